// The sizes of a table.

export const rowHeight = 34,
  cardHeight = 60,
  plusWidth = 34; // px
export const rowsAround = 6; // in the page above and below the visible ones

// Browsers draw nothing below some 17 million pixels. A taller table is scrolled by
// a factor.
export const maxHeight = 15_000_000;
