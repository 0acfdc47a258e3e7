// Addresses that name nothing, with the nearest ones.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, pathOf, Refused } from "../data/api.ts";
import { tools } from "../tool_list.ts";
import { href, route } from "../route.ts";
import { ErrorBox } from "../ui.tsx";

/** What the server says about a name that it does not have. It knows similar ones. */
export function NoCollection({ name }: { name: string }) {
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    get(pathOf(name)).catch(setError);
  }, [name]);
  const { suggestion, collections: all = [] } = error instanceof Refused ? error.problem : {};
  const { path, query } = route.value,
    rest = path.slice(path.indexOf(name) + 1);
  return (
    <NotFound
      title={name}
      names={suggestion ? all.filter((other) => other !== suggestion) : all}
      link={(other) => href([other])}
    >
      {error !== null && <ErrorBox error={error} title="Not found" />}
      {suggestion && (
        <p>
          Did you mean <a href={href([suggestion, ...rest], query)}>{suggestion}</a>?
        </p>
      )}
    </NotFound>
  );
}

export function NoScreen({ name }: { name: string }) {
  return (
    <NotFound title="Not found" names={tools.map((tool) => tool.screen)} link={(other) => href(["_", other])}>
      <p>
        The page has no screen <span class="code">{name}</span>. It has these:
      </p>
    </NotFound>
  );
}

interface NotFoundProps {
  title: string;
  names: string[];
  link: (name: string) => string;
  children: ComponentChildren;
}

const listed = 50; // names

function NotFound({ title, names, link, children }: NotFoundProps) {
  return (
    <main class="screen" aria-labelledby="title">
      <h1 id="title">{title}</h1>
      {children}
      <p class="links">
        {names.slice(0, listed).map((name) => (
          <a key={name} href={link(name)}>
            {name}
          </a>
        ))}
        <a href="#/">Overview</a>
      </p>
    </main>
  );
}
