// What is simulated, in a strip above the other screens.
import { Icon } from "./icons.tsx";
import { describeRule, rules } from "./simulation.ts";

export function SimulationStrip() {
  if (rules.value.length === 0) return null;
  return (
    <div class="strip simulated">
      <Icon name="flask" />
      <span>{rules.value.map(describeRule).join("; ")}.</span>
      <a href="#/_/requests">Change</a>
    </div>
  );
}
