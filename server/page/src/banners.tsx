// What is true of every screen: banners above the contents.
import { enterSession, isSessionNew, isSignedOut, session } from "./data/api.ts";
import { status } from "./data/catalog.ts";
import { Icon } from "./icons.tsx";
import { bundle } from "./lazy.tsx";
import { broken, connection } from "./data/live.ts";
import { href, route } from "./route.ts";
import { Button, count } from "./ui.tsx";

export function Banners() {
  const rules = status.value?.rules;
  return (
    <>
      {connection.value === "lost" && !isSignedOut.value && (
        <div class="banner warn" role="status">
          <Icon name="alert" />
          The server does not answer. What you see may be out of date. The page continues as soon as the server is back.
        </div>
      )}
      {broken.value && (
        <div class="banner bad" role="alert">
          <Icon name="alert" />
          <span>{broken}</span>
        </div>
      )}
      {rules?.state === "broken" && (
        <div class="banner warn" role="status">
          <Icon name="alert" />
          <span>
            <b>The schema cannot be used.</b> {rules.detail}
          </span>
        </div>
      )}
      {bundle.value && <bundle.value.SimulationBanner />}
      {status.value?.review
        ?.filter(({ name }) => route.value.path.join("/") !== "_/sessions/" + name)
        .map(({ name, changes }) => (
          <div key={name} class="banner session" role="status">
            <Icon name="layers" />
            <span>
              <b>{name}</b> has {count(changes, "change")} for you: <a href={href(["_", "sessions", name])}>Review</a>
            </span>
          </div>
        ))}
      {session.value && (
        <div class={isSessionNew.value ? "banner warn" : "banner session"} role="status">
          <Icon name={isSessionNew.value ? "alert" : "layers"} />
          <span>
            This is the session <b>{session}</b>.{" "}
            {isSessionNew.value
              ? "It is new: the one before has ended, and its changes are lost."
              : "What you change here does not reach the file."}
          </span>
          <Button onClick={() => enterSession("")}>Leave</Button>
        </div>
      )}
    </>
  );
}
