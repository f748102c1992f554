// What leaves the target: bounded, readable, and without anything secret.

const MAX_BYTES = 200 * 1024;
const MAX_TEXT = 2000;
const MAX_LIST = 200;
const MAX_DEPTH = 8;
const KEYS = [
  /\b(?:sk|pk|rk)[-_][\w-]{16,}/g,
  /\b(?:gh[pousr]_|github_pat_|glpat-|npm_|hf_|xox[a-z]-|tok-)[\w-]{8,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?/g,
  /\b(?:bearer|basic)\s+[\w+/=.~-]{8,}/gi,
  /(?<=["']?(?:api_?key|token|secret|password)["']?\s*[:=]\s*)["']?[^\s"',}]{6,}/gi,
];

/** Return a result as JSON of printable ASCII in one line. */
export function trimmed(result, { folder, agent, secrets }) {
  const clean = (text) => {
    let shown = text;
    for (const secret of secrets) shown = shown.replaceAll(secret, "***");
    for (const key of KEYS) shown = shown.replace(key, "***");
    if (agent) shown = shown.replace(/\/[^\s"']*?\/runs\/[a-z]+\/agent(?=\/|\b)/g, agent);
    return shown.replaceAll(folder, "<scratch>").slice(0, MAX_TEXT);
  };
  const walk = (value, depth) => {
    if (typeof value === "string") return clean(value);
    if (depth > MAX_DEPTH) return null;
    if (Array.isArray(value)) return value.slice(0, MAX_LIST).map((each) => walk(each, depth + 1));
    if (value === null || typeof value !== "object") return value ?? null;
    const entries = Object.entries(value).slice(0, MAX_LIST);
    return Object.fromEntries(entries.map(([key, each]) => [clean(key).slice(0, 200), walk(each, depth + 1)]));
  };
  const text = ascii(JSON.stringify(walk(result, 0)));
  if (text.length <= MAX_BYTES) return text;
  return ascii(JSON.stringify({ state: "unsupported", why: "more happened than can be told" }));
}

function ascii(text) {
  return text.replace(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
