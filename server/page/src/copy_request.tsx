// Buttons that copy a request as a URL or as code.
import { status } from "./data/catalog.ts";
import { languages, type RequestText } from "./data/snippets.ts";
import { Copy } from "./ui.tsx";

interface CopyRequestProps {
  request: () => RequestText;
  from?: number; // the languages, of which the first is the URL
  to?: number;
}

export const CopyRequest = ({ request, from = 0, to }: CopyRequestProps) => (
  <>
    {languages.slice(from, to).map(({ name, write }) => (
      <Copy key={name} text={() => write(request(), status.value?.user)}>
        {name}
      </Copy>
    ))}
  </>
);
