// Reads the variables as pi-mnemo does: nothing is refused, a bad value falls back.
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const env = process.env;

function minutes(words: string): number | null {
  const found = /^(\d{1,2}):(\d{2})$/.exec(words.trim());
  if (!found || Number(found[1]) > 23 || Number(found[2]) > 59) return null;
  return Number(found[1]) * 60 + Number(found[2]);
}

function zone(): string {
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone: env.PI_MNEMO_DREAM_TZ || undefined })
      .resolvedOptions().timeZone;
  } catch {
    return new Intl.DateTimeFormat().resolvedOptions().timeZone;
  }
}

function window() {
  const start = minutes(env.PI_MNEMO_DREAM_WINDOW_START ?? "18:30");
  const end = minutes(env.PI_MNEMO_DREAM_WINDOW_END ?? "08:30");
  return start === null || end === null ? null : { start, end, zone: zone() };
}

function number(words: string | undefined, otherwise: number): number {
  if (words === undefined || words === "") return otherwise;
  return Number.isFinite(Number(words)) ? Number(words) : otherwise;
}

export const CONFIG = {
  root: env.PI_MNEMO_ROOT || join(homedir(), ".pi", "agent", "mnemo"),
  prompts: env.PI_MNEMO_PROMPTS_DIR || join(here, "..", "prompts"),
  window: window(),
  timeout: number(env.PI_MNEMO_WORKER_TIMEOUT_MS, 600_000),
  disabled: ["1", "true", "yes"].includes(env.PI_MNEMO_DISABLED ?? ""),
};
