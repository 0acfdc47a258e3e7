import type { ComponentChildren } from "preact";

interface ScrolledTableProps {
  label: string;
  names: string[]; // above the columns
  class?: string;
  after?: ComponentChildren;
  children: ComponentChildren; // the rows
}

/** A table of a dialog, which scrolls in it. */
export function ScrolledTable({ label, names, class: name = "", after, children }: ScrolledTableProps) {
  return (
    <div class="scrolled" tabIndex={0} role="region" aria-label={label}>
      <table class={"plain " + name}>
        <thead>
          <tr>
            {names.map((own) => (
              <th key={own} scope="col">
                {own}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
      {after}
    </div>
  );
}
