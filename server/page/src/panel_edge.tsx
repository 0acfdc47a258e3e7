// The edge of a panel, which makes it wider.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { drag } from "./ui.tsx";

const least = 320,
  step = 20; // px

export function PanelEdge() {
  const [width, setWidth] = useState(0);
  const edge = useRef<HTMLDivElement>(null);
  const now = () => edge.current?.parentElement?.offsetWidth ?? 0;
  const most = Math.round(innerWidth * 0.7);
  const set = (wanted: number) => {
    const next = Math.round(Math.min(most, Math.max(least, wanted)));
    document.documentElement.style.setProperty("--panel-width", next + "px");
    setWidth(next);
  };
  useLayoutEffect(() => setWidth(now()), []);
  return (
    <div
      ref={edge}
      class="edge"
      role="separator"
      aria-orientation="vertical"
      aria-label="Width of the panel"
      aria-valuenow={width}
      aria-valuemin={least}
      aria-valuemax={most}
      tabIndex={0}
      onPointerDown={(event) => {
        const before = now();
        drag(event, (x) => set(before - x));
      }}
      onKeyDown={(event) => {
        if (event.key === "ArrowLeft") set(now() + step);
        else if (event.key === "ArrowRight") set(now() - step);
      }}
    />
  );
}
