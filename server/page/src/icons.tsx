// Icons of 24 by 24, as paths of lines.

const paths = {
  home: "M3 11l9-8 9 8M5 9.5V21h5v-6h4v6h5V9.5",
  table: "M3 5h18v14H3zM3 10h18M9 10v9",
  braces:
    "M8 4c-2 0-3 1-3 3v2c0 2-1 3-2 3 1 0 2 1 2 3v2c0 2 1 3 3 3M16 4c2 0 3 1 3 3v2c0 2 1 3 2 3-1 0-2 1-2 3v2c0 2-1 3-3 3",
  pulse: "M2 12h5l3-8 4 16 3-8h5",
  history: "M3 12a9 9 0 1 0 3-6.7M3 4v5h5M12 7v5l4 2",
  alert: "M12 3l10 18H2zM12 10v5M12 18v.01",
  share: "M6 8a2.5 2.5 0 1 0 0-.01M18 5a2.5 2.5 0 1 0 0-.01M18 19a2.5 2.5 0 1 0 0-.01M8.5 7l7-2M8 9.5l8 8",
  book: "M4 5a2 2 0 0 1 2-2h14v18H6a2 2 0 0 1-2-2zM4 19a2 2 0 0 1 2-2h14",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l5 5",
  plus: "M12 5v14M5 12h14",
  close: "M6 6l12 12M18 6L6 18",
  copy: "M9 9h11v11H9zM15 9V4H4v11h5",
  check: "M4 12l6 6L20 6",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5L19 19M5 19l1.5-1.5M17.5 6.5L19 5",
  moon: "M20 14A8.5 8.5 0 0 1 10 4a8.5 8.5 0 1 0 10 10z",
  up: "M6 15l6-6 6 6",
  down: "M6 9l6 6 6-6",
  right: "M9 6l6 6-6 6",
  sortup: "M12 19V5M6 11l6-6 6 6",
  sortdown: "M12 5v14M6 13l6 6 6-6",
  undo: "M4 9h11a5 5 0 0 1 0 10h-4M8 5L4 9l4 4",
  flask: "M9 3h6M10 3v6l-6 10a1.5 1.5 0 0 0 1.3 2h13.4a1.5 1.5 0 0 0 1.3-2L14 9V3M7 15h10",
  trash: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13",
  menu: "M4 6h16M4 12h16M4 18h16",
  out: "M14 4h6v6M20 4l-9 9M18 13v6H5V6h6",
  lock: "M6 11h12v9H6zM8.5 11V7.5a3.5 3.5 0 0 1 7 0V11",
  filter: "M3 5h18l-7 9v5l-4 2v-7z",
  play: "M7 4l13 8-13 8z",
  pause: "M8 5v14M16 5v14",
  columns: "M3 5h18v14H3zM9 5v14M15 5v14",
  layers: "M12 3l9 5-9 5-9-5zM3 12l9 5 9-5M3 16l9 5 9-5",
  camera: "M4 8h4l2-3h4l2 3h4v11H4zM12 10.5a3 3 0 1 0 0 6 3 3 0 0 0 0-6z",
  calendar: "M4 6h16v15H4zM4 11h16M8 3v4M16 3v4",
  dots: "M5 12h.01M12 12h.01M19 12h.01",
};
export type IconName = keyof typeof paths;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  );
}
