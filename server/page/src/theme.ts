// Runs before the first paint, so that the page does not flash in another theme.
const theme = localStorage.getItem("pickup.theme");
if (theme) document.documentElement.dataset.theme = theme;
