// Buttons of what writes.
import type { ComponentProps } from "preact";
import { isReadOnly, whyOff } from "./data/catalog.ts";
import { toast } from "./messages.tsx";
import { Button } from "./ui.tsx";

/** A button that a read-only server does not have. While nothing can be written it says why. */
export function WriteButton(props: ComponentProps<typeof Button>) {
  if (isReadOnly.value) return null;
  if (!whyOff.value) return <Button {...props} />;
  return (
    <Button
      {...props}
      disabled={false}
      aria-disabled={true}
      title={whyOff.value}
      onClick={() => void toast(whyOff.value, { bad: true })}
    />
  );
}
