/** A page of a list: the answer with _page and _per_page. */
export type Page<T> = {
  first: number;
  prev: number | null;
  next: number | null;
  last: number;
  pages: number;
  items: number;
  data: T[];
};

