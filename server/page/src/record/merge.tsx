// A record that two have changed: fields that only one has changed are taken
// over, and a person chooses for the others.
import { useState } from "preact/hooks";
import { Icon } from "../icons.tsx";
import { differing, isEqual, memberOf, withMember, type Obj } from "../data/json.ts";
import { fieldOf, typedOf, type Shape } from "../data/schema.ts";
import { Button } from "../ui.tsx";
import { Value } from "../values.tsx";

type Side = "mine" | "theirs";

interface MergeProps {
  base: Obj;
  mine: Obj;
  theirs: Obj;
  shape: Shape;
  canMerge: boolean;
  texts?: Texts;
  onMerge: (merged: Obj, isKept: boolean) => void; // isKept: with what is not a value yet
}

/** What the form calls the two sides. */
interface Texts {
  title: string;
  mine: string;
  theirs: string;
  merge: string;
  discard: string;
}

const ofRecord: Texts = {
  title: "Somebody else has changed this record",
  mine: "mine",
  theirs: "theirs",
  merge: "Merge",
  discard: "Discard mine",
};

export function Merge({ base, mine, theirs, shape, canMerge, texts = ofRecord, onMerge }: MergeProps) {
  const [choices, setChoices] = useState<Record<string, Side>>({});
  const changedHere = differing(base, mine),
    changedThere = differing(base, theirs);
  const conflicting = changedHere.filter(
    (name) => !isEqual(memberOf(mine, name), memberOf(theirs, name)) && changedThere.includes(name),
  );
  const taken = changedThere.filter((name) => !changedHere.includes(name));
  const isDecided = conflicting.every((name) => Object.hasOwn(choices, name));
  const merged = () => {
    let record = theirs;
    for (const name of changedHere) {
      if (memberOf(choices, name) !== "theirs") record = withMember(record, name, memberOf(mine, name));
    }
    return record;
  };
  return (
    <div class="merge" role="alert">
      <h3>
        <Icon name="alert" />
        {texts.title}
      </h3>
      {taken.length > 0 && (
        <ul>
          {taken.map((name) => (
            <li key={name}>
              <span class="code">{name}</span> is now <b>{typedOf(memberOf(theirs, name)) || "empty"}</b>
            </li>
          ))}
        </ul>
      )}
      {conflicting.length > 0 && (
        <>
          <p>Both changed:</p>
          <table>
            <thead>
              <tr>
                <th scope="col">field</th>
                <th scope="col">{texts.mine}</th>
                <th scope="col">{texts.theirs}</th>
              </tr>
            </thead>
            <tbody>
              {conflicting.map((name) => (
                <tr key={name}>
                  <th class="code" scope="row">
                    {name}
                  </th>
                  {(["mine", "theirs"] as const).map((side) => (
                    <td key={side}>
                      <label>
                        <input
                          type="radio"
                          name={texts.title + name}
                          checked={memberOf(choices, name) === side}
                          onChange={() => setChoices({ ...choices, [name]: side })}
                        />
                        <span class="offscreen">{texts[side]}: </span>
                        <Value
                          value={memberOf(side === "mine" ? mine : theirs, name)}
                          field={fieldOf(shape, name)}
                          plain
                        />
                      </label>
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </>
      )}
      <div class="row-of">
        <Button kind="primary" disabled={!isDecided || !canMerge} onClick={() => onMerge(merged(), true)}>
          {texts.merge}
        </Button>
        <Button onClick={() => onMerge(theirs, false)}>{texts.discard}</Button>
      </div>
    </div>
  );
}
