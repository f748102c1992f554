// One server's entry as it stands in a client's files, with what it takes from the environment.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";

const MAX_FILE = 4 * 1024 * 1024;
const LEAST_HIDDEN = 6;
const PALACES = /^--?palace(?:[-_]path)?(=|$)/;

/** Why a server was not tried: no fault of the server's. */
export class NotTried extends Error {}

/** The text of a file as plain JSON: comments and last commas gone, strings as they are. */
export function plainJson(text) {
  const bare = text.replace(/^\uFEFF/, "").replace(/"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[^]*?\*\//g, (found) => (found[0] === '"' ? found : " "));
  return bare.replace(/"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])/g, (found) => (found === "," ? "" : found));
}

/** What a text of JSON holds; undefined where that is no object. */
export function objectOf(text) {
  try {
    const value = JSON.parse(text);
    return value !== null && typeof value === "object" ? value : undefined;
  } catch {
    return undefined;
  }
}

export function readText(file) {
  try {
    return fs.statSync(file).size > MAX_FILE ? undefined : fs.readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

/** The entry that all named files make of it, later ones over earlier ones, references filled in. */
export function entryOf(trial, own, hidden) {
  let entry = {};
  for (const [file, pointer] of trial.entries) {
    let value = parsed(file);
    for (const key of pointer) value = value !== null && typeof value === "object" ? value[key] : undefined;
    if (value === null || typeof value !== "object") throw new NotTried(`${file} changed meanwhile`);
    entry = over(entry, filled(value, { own, hidden, folder: path.dirname(file), run: trial.commands }));
  }
  return entry;
}

function parsed(file) {
  const text = readText(file);
  try {
    return JSON.parse(plainJson(text ?? ""));
  } catch {
    throw new NotTried(`${file} cannot be read`);
  }
}

function over(held, fields) {
  const both = (a, b) => [a, b].every((each) => each !== null && typeof each === "object" && !Array.isArray(each));
  const made = { ...held };
  for (const [name, value] of Object.entries(fields)) made[name] = both(held[name], value) ? over(held[name], value) : value;
  return made;
}

function filled(value, given) {
  if (typeof value === "string") return text(value, given);
  if (Array.isArray(value)) return value.map((each) => filled(each, given));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, filled(each, given)]));
}

const REFERENCE = /\{file:([^{}]+)\}|\{env:([A-Za-z_]\w*)\}|\$\{(?:env:)?([A-Za-z_]\w*)(?::-([^{}]*))?\}/g;

function text(value, { own, hidden, folder, run }) {
  // What a client runs to get a credential may do anything: it is not run here.
  if (run && value.startsWith("!") && !value.startsWith("!!")) throw new NotTried("a value of it is a command, which was not run");
  return value.replace(REFERENCE, (_, file, one, other, otherwise) => {
    const held = file === undefined ? (own[one ?? other] ?? otherwise ?? "") : (readText(located(file, folder, own))?.trim() ?? "");
    hide(held, hidden);
    return held;
  });
}

function located(file, folder, own) {
  return file.startsWith("~/") ? path.join(own.HOME || os.homedir(), file.slice(2)) : path.resolve(folder, file);
}

/** Remember a value that must never be told. */
export function hide(value, hidden) {
  if (value.length >= LEAST_HIDDEN) hidden.push(value);
}

/** Program and arguments; a palace that they name is not the one that is opened. */
export function wordsOf(entry, form, scratch) {
  const words = form === "list" ? entry.command : [entry.command, ...(entry.args ?? [])];
  if (!Array.isArray(words) || words.length === 0 || !words.every((word) => typeof word === "string" && word !== "")) {
    throw new NotTried("its command is no list of words");
  }
  return words.map((word, number) => {
    if (PALACES.test(word) && word.includes("=")) return `${word.slice(0, word.indexOf("="))}=${scratch}`;
    return number > 0 && PALACES.test(words[number - 1]) && !words[number - 1].includes("=") ? scratch : word;
  });
}

/** What the entry sets itself, under either name. */
export function environmentOf(entry, hidden) {
  const set = Object.entries(entry.environment ?? entry.env ?? {}).filter(([, value]) => typeof value === "string");
  for (const [, value] of set) hide(value, hidden);
  return Object.fromEntries(set);
}

export function headersOf(entry, own, hidden) {
  const named = Object.entries(entry.headers ?? {}).filter(([, value]) => typeof value === "string");
  const token = entry.bearerToken ?? own[entry.bearerTokenEnv];
  const headers = { ...Object.fromEntries(named), ...(typeof token === "string" ? { Authorization: `Bearer ${token.replace(/^!!/, "!")}` } : {}) };
  for (const value of Object.values(headers)) {
    hide(value, hidden);
    hide(value.replace(/^(?:Bearer|Basic) /i, ""), hidden);
  }
  return headers;
}
