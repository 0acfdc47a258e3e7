// What is simulated, in a strip above the other screens.
import { Icon } from "./icons.tsx";
import { bundle } from "./later.tsx";
import { describeRule, rules } from "./simulation.ts";
import { Ago } from "./ui.tsx";

export function SimulationStrip() {
  if (rules.value.length === 0) return null;
  const latest = bundle.value?.requests.value?.[0]; // it may be long ago
  return (
    <div class="strip simulated" role="status">
      <Icon name="flask" />
      <span>{rules.value.map(describeRule).join("; ")}.</span>
      <a href="#/_/requests">Change</a>
      {latest && (
        <span class="phone-no">
          latest request <Ago at={latest.at} />
        </span>
      )}
    </div>
  );
}
