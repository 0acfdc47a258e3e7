// What is simulated, in a banner above the other screens.
import { computed, effect, signal } from "@preact/signals";
import { isReadOnly, status } from "../data/catalog.ts";
import { Icon } from "../icons.tsx";
import { requests } from "../data/live.ts";
import { toastError } from "../messages.tsx";
import { screen } from "../route.ts";
import { endSimulation } from "./simulate_menu.tsx";
import { describeRule, removeAllRules, rules } from "../data/simulation.ts";
import { Ago, Button, now, useNarrow } from "../ui.tsx";

export function SimulationBanner() {
  const isNarrow = useNarrow(),
    isHere = screen.value === "simulate" || (screen.value === "requests" && !isNarrow);
  if (rules.value.length === 0) return null;
  const latest = requests.value?.[0]; // it may be long ago
  return (
    <div class="banner simulated" role="status">
      <Icon name="flask" />
      <span>{rules.value.map(describeRule).join("; ")}.</span>
      {!isHere && <a href={isNarrow ? "#/_/simulate" : "#/_/requests"}>Change</a>}
      {!isReadOnly.value && !isForgotten.value && (
        <Button class="small" onClick={endSimulation}>
          End it
        </Button>
      )}
      {latest && !isForgotten.value && (
        <span class="phone-no" aria-live="off">
          latest request <Ago at={latest.at} />
        </span>
      )}
      <ForgottenRules />
    </div>
  );
}

const idle = 30 * 60_000; // ms without a request after which the rules may be forgotten

const texts = computed(() => rules.value.map(describeRule).join());
const begin = signal(0); // when the rules were set, or somebody wanted them to stay

effect(() => {
  if (texts.value) begin.value = Date.now();
});

/** Whether something is simulated although no front end sends requests. */
const isForgotten = computed(() => {
  if (rules.value.length === 0 || !status.value?.mode.requests) return false;
  const latest = Date.parse(requests.value?.[0]?.at ?? "") || 0;
  return now.value - Math.max(begin.value, latest) > idle;
});

/** Asks whether to keep the rules, if they may be forgotten. */
function ForgottenRules() {
  if (!isForgotten.value || isReadOnly.value) return null;
  return (
    <span class="row-of wrap">
      <span>No front end has sent a request for 30 minutes. Keep simulating?</span>
      <Button
        onClick={() => {
          begin.value = Date.now();
        }}
      >
        Keep
      </Button>
      <Button
        onClick={() =>
          void removeAllRules().catch((error: unknown) => toastError("Could not remove the rules.", error))
        }
      >
        Off
      </Button>
    </span>
  );
}
