var e=localStorage.getItem("pickup.theme");e&&(document.documentElement.dataset.theme=e);
