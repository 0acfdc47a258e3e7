// The query of a list, as the address and the API spell it.

export interface Term {
  member: string;
  operator: Operator;
  value: string;
}

export interface Sort {
  member: string;
  descending: boolean;
}

export interface Query {
  terms: Term[];
  q: string;
  sort: Sort[];
  rest: [name: string, value: string][]; // what the page does not show as a term
}

export const operators = {
  eq: { sign: "=", words: "is" },
  ne: { sign: "≠", words: "is not" },
  contains: { sign: "~", words: "contains" },
  startsWith: { sign: "^", words: "starts with" },
  endsWith: { sign: "$", words: "ends with" },
  gte: { sign: "≥", words: "is at least" },
  lte: { sign: "≤", words: "is at most" },
  gt: { sign: ">", words: "is more than" },
  lt: { sign: "<", words: "is less than" },
  in: { sign: "in", words: "is one of" },
  exists: { sign: "exists", words: "exists" },
  like: { sign: "like", words: "matches" },
} as const;
export type Operator = keyof typeof operators;

const isOperator = (name: string | undefined): name is Operator => name !== undefined && Object.hasOwn(operators, name);

export function readQuery(text: string): Query {
  const query: Query = { terms: [], q: "", sort: [], rest: [] };
  for (const [name, value] of new URLSearchParams(text)) {
    const [, member = "", operator] = /^(.+):(\w+)$/.exec(name) ?? [];
    if (name === "q" && !query.q) query.q = value;
    else if (name === "_sort" && query.sort.length === 0) query.sort = value.split(",").filter(Boolean).map(readSort);
    else if (name === "q" || name.startsWith("_")) query.rest.push([name, value]);
    else if (isOperator(operator)) query.terms.push({ member, operator, value });
    else query.terms.push({ member: name, operator: "eq", value });
  }
  return query;
}

export const readSort = (text: string): Sort => ({ member: text.replace(/^-/, ""), descending: text.startsWith("-") });

export const writeSort = (sort: Sort): string => (sort.descending ? "-" : "") + sort.member;

/** Percent-encodes what has a meaning in a query, and leaves the rest legible. */
const encode = (text: string): string =>
  encodeURIComponent(text)
    .replace(/%(3A|2C|2F|40|24|5B|5D)/gi, (code) => decodeURIComponent(code))
    .replaceAll("%20", "+");

export function writeQuery(query: Query): string {
  const parts = query.terms.map((term) => {
    const suffix = term.operator === "eq" ? "" : ":" + term.operator;
    return encode(term.member) + suffix + "=" + encode(term.value);
  });
  if (query.q) parts.push("q=" + encode(query.q));
  if (query.sort.length > 0) {
    parts.push("_sort=" + query.sort.map((sort) => encode(writeSort(sort))).join(","));
  }
  for (const [name, value] of query.rest) parts.push(encode(name) + "=" + encode(value));
  return parts.join("&");
}

const signs: Record<string, Operator> = {
  "=": "eq",
  "!=": "ne",
  ">=": "gte",
  "<=": "lte",
  ">": "gt",
  "<": "lt",
  "~": "contains",
  "^": "startsWith",
};

/** Returns the condition that is typed, such as status=Canceled or title~vet, and null for any other text. */
export function parseTerm(typed: string, members: string[]): Term | null {
  const found = /^\s*([^\s=<>~!^]+)\s*(>=|<=|!=|=|>|<|~|\^)\s*(.*?)\s*$/s.exec(typed);
  if (!found) return null;
  const [, written = "", sign = "", value = ""] = found;
  const lower = written.toLowerCase();
  const member = members.find((m) => m === written) ?? members.find((m) => m.toLowerCase() === lower) ?? written;
  return { member, operator: signs[sign] ?? "eq", value };
}

/** Returns the query with a condition. It replaces one with the same field and operator. */
export function withTerm(query: Query, term: Term): Query {
  const others = query.terms.filter((t) => t.member !== term.member || t.operator !== term.operator);
  return { ...query, terms: [...others, term] };
}
