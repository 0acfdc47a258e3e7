// The status of an answer, in the color of its kind.
export function StatusCode({ status: code }: { status: number }) {
  return <span class={"status s" + String(code)[0]}>{code || "cut"}</span>;
}
