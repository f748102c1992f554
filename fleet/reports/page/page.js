// What the page does beyond being read: filters, keys, and the story behind a cell.
// Every text comes from the data as text (textContent), never as markup.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const grid = document.getElementById("grid");
  const dialog = document.getElementById("story");
  const text = (number) => (number === undefined ? "" : data.texts[number]);

  // --- building

  function make(name, content, look) {
    const made = document.createElement(name);
    if (look) made.className = look;
    for (const part of [content].flat()) {
      if (part !== undefined && part !== null && part !== "") made.append(part);
    }
    return made;
  }

  function marked(number) {
    const [glyph, word, look] = data.marks[number];
    return make("span", [make("b", glyph), " " + word], "m-" + look);
  }

  function part(title, ...content) {
    const told = content.flat().filter((one) => one);
    return told.length ? [make("h3", title), ...told.map((one) => (one.nodeType ? one : make("p", one)))] : [];
  }

  // --- stories

  let opener = null;

  function show(title, mark, content) {
    const close = make("button", "close");
    close.type = "button";
    close.addEventListener("click", () => dialog.close());
    const heading = make("h2", title);
    heading.id = "story-title";
    const head = make("header", [make("div", [heading, mark]), close]);
    dialog.replaceChildren(head, ...content);
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
    close.focus();
  }

  dialog.addEventListener("close", () => {
    if (location.hash.startsWith("#story=")) history.replaceState(null, "", location.pathname + location.search);
    if (opener) opener.focus();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });

  function when(before, story) {
    const told = [];
    if (before && before.since) told.push("so since the run of " + before.since + (before.old ? ", the oldest that is kept; it may be older" : ""));
    if (before && before.broke) told.push("failed first in the run of " + before.broke + ", and was not seen at times since");
    if (before && before.held) told.push("held last in the run of " + before.held);
    if (before && !before.held && !before.old) told.push("no run that is kept shows it holding");
    if (!before) told.push("no earlier run is known here");
    return part("Since when", told.map((one) => make("p", one)), story.d === undefined ? "" : "needs " + text(story.d) + " or later");
  }

  function findingOf(target, number, story, before) {
    const gate = data.gates[story.g] || { i: "", y: "" };
    const asked = [text(gate.q), gate.w === undefined ? "" : "Without it: " + text(gate.w)];
    const decides = story.r ? "required: it decides the exit code" : "advisory: shown, and it decides nothing";
    const held = story.v === "pass" || story.v === "not-applicable";
    const content = [
      ...part("What was asked", asked, make("p", gate.y + ", " + story.s + ", " + decides)),
      ...part("What decided it", text(story.t), story.e.map((line) => make("p", text(line), "fact"))),
      ...(held ? [] : when(before, story)),
      ...part("Accepted", text(story.w)),
      ...part("What to do", text(story.a), story.x === undefined ? "" : make("code", text(story.x))),
      ...part("What differed since it held", before && before.diff ? make("pre", before.diff.map(text).join("\n")) : ""),
    ];
    if (story.f !== undefined && target) content.push(...cause(target, text(story.f)));
    if (target) content.push(...asking(target));
    return [gate.i, content];
  }

  function cause(target, id) {
    const number = data.gates.findIndex((gate) => gate.i === id);
    if (number < 0 || target.c[number] === undefined || target.c[number] < 0) return part("The cause", id);
    const link = make("button", id);
    link.type = "button";
    link.addEventListener("click", () => openStory(target, number));
    return part("The cause", link);
  }

  function asking(target) {
    const told = [text(target.a)];
    if (target.at) told.push("looked at " + target.at + (target.p === undefined ? "" : ", " + text(target.p)));
    if (target.x) told.push(target.x.map(text).filter((one) => one).join(": "));
    return part("Asked", told);
  }

  function openStory(target, number) {
    const story = data.stories[target.c[number]];
    const before = target.b && target.b[number];
    const [gate, content] = findingOf(target, number, story, before);
    show(text(target.n) + ": " + gate, marked(story.m), content);
    history.replaceState(null, "", "#story=" + encodeURIComponent(text(target.n)) + "/" + encodeURIComponent(gate));
  }

  function listed(target, system) {
    const list = make("ul");
    data.gates.forEach((gate, number) => {
      const story = data.stories[target.c[number]];
      if (!story || (system !== null && gate.y !== system)) return;
      const button = make("button", [marked(story.m), " " + gate.i]);
      button.type = "button";
      button.addEventListener("click", () => openStory(target, number));
      list.append(make("li", button));
    });
    return list;
  }

  function openSystem(target, system) {
    show(text(target.n) + ": " + system, "", [...part("Gates", listed(target, system)), ...asking(target)]);
  }

  function openTarget(target) {
    const texts = (numbers) => numbers.map(text).join(", ");
    const runs = (target.l || []).slice().reverse().map(([at, mark]) => make("li", [at + " ", mark < 0 ? "not asked" : marked(mark)]));
    show(text(target.n), "", [
      ...asking(target),
      ...part("Groups", texts(target.g)),
      ...part("Systems", texts(target.y)),
      ...part("Required of it", texts(target.q)),
      ...part("Its last runs, newest first", runs.length ? make("ul", runs) : ""),
      ...part("Gates", listed(target, null)),
    ]);
  }

  function openGate(gate) {
    const told = [text(gate.q), gate.w === undefined ? "" : "Without it: " + text(gate.w)];
    show(gate.i, "", [
      ...part("What is asked", told),
      ...part("Required", text(gate.r)),
      ...part("Dates from", text(gate.s)),
      ...part("System", gate.y),
    ]);
  }

  const whole = document.getElementById("fleet");
  if (whole) {
    [...whole.tBodies[0].rows].forEach((row, number) => {
      const one = data.fleet[number];
      const cell = row.querySelector(".story");
      cell.tabIndex = 0;
      cell.setAttribute("role", "button");
      const open = () => {
        opener = cell;
        const story = data.stories[one.s];
        const [gate, content] = findingOf(null, 0, story, one.b ? one : undefined);
        show(text(one.n) + ": " + gate, marked(story.m), content);
      };
      cell.addEventListener("click", open);
      cell.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        open();
      });
    });
  }

  if (!grid) return;

  // --- the matrix: one cell takes part in the tab order, arrow keys move it

  const head = grid.tHead.rows[0];
  const body = [...grid.tBodies[0].rows];
  const columns = [...head.cells];
  const number = { system: -1, gate: -1 };
  const meaning = columns.map((cell) => {
    if (cell.classList.contains("y")) return { system: ++number.system };
    if (cell.classList.contains("g")) return { system: number.system, gate: ++number.gate };
    return {};
  });
  const rows = [head, ...body];
  grid.setAttribute("role", "grid");
  let active = body[0].cells[0];
  active.tabIndex = 0;

  function seen(cell) {
    return cell.offsetParent !== null;
  }

  function focus(cell) {
    active.tabIndex = -1;
    active = cell;
    active.tabIndex = 0;
    active.focus();
    active.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  function step(list, at, by) {
    for (let next = at + by; next >= 0 && next < list.length; next += by) {
      if (seen(list[next])) return list[next];
    }
    return list[at];
  }

  function moved(event) {
    const row = active.parentElement;
    const across = [...row.cells];
    const down = rows.map((one) => one.cells[active.cellIndex]);
    const at = across.indexOf(active);
    const far = event.ctrlKey || event.metaKey;
    switch (event.key) {
      case "ArrowRight": return step(across, at, 1);
      case "ArrowLeft": return step(across, at, -1);
      case "ArrowDown": return step(down, rows.indexOf(row), 1);
      case "ArrowUp": return step(down, rows.indexOf(row), -1);
      case "Home": return step(far ? [...body.find((one) => !one.hidden).cells] : across, -1, 1);
      case "End": {
        const last = far ? [...body.findLast((one) => !one.hidden).cells] : across;
        return step(last, last.length, -1);
      }
      case "PageDown": return [...Array(10)].reduce((cell) => step(down, down.indexOf(cell), 1), active);
      case "PageUp": return [...Array(10)].reduce((cell) => step(down, down.indexOf(cell), -1), active);
      default: return null;
    }
  }

  function open(cell) {
    const means = meaning[cell.cellIndex];
    opener = cell;
    if (cell.parentElement === head) {
      if (means.gate !== undefined) openGate(data.gates[means.gate]);
      else if (means.system !== undefined) toggle(means.system);
      return;
    }
    const target = data.targets[body.indexOf(cell.parentElement)];
    if (means.gate !== undefined) {
      if (target.c[means.gate] >= 0) openStory(target, means.gate);
    } else if (means.system !== undefined) {
      if (cell.textContent) openSystem(target, data.systems[means.system]);
    } else {
      openTarget(target);
    }
  }

  grid.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      open(active);
      return;
    }
    const next = moved(event);
    if (!next) return;
    event.preventDefault();
    focus(next);
  });
  grid.addEventListener("click", (event) => {
    const cell = event.target.closest("th, td");
    if (!cell || String(getSelection())) return;
    focus(cell);
    open(cell);
  });

  // --- which columns are shown

  const form = document.getElementById("filters");
  const every = document.getElementById("all-gates");

  function close(system, closed) {
    grid.classList.toggle("c" + system, closed);
    told();
  }

  function toggle(system) {
    close(system, !grid.classList.contains("c" + system));
  }

  function told() {
    const closed = data.systems.map((_, system) => grid.classList.contains("c" + system));
    columns.forEach((cell, at) => {
      const means = meaning[at];
      if (means.system !== undefined && means.gate === undefined) {
        cell.setAttribute("aria-expanded", String(!closed[means.system]));
      }
    });
    every.setAttribute("aria-pressed", String(!closed.includes(true)));
    if (!seen(active)) {
      active.tabIndex = -1;
      active = (body.find((row) => !row.hidden) || head).cells[0];
      active.tabIndex = 0;
    }
  }

  every.addEventListener("click", () => {
    const closed = every.getAttribute("aria-pressed") === "true";
    data.systems.forEach((_, system) => grid.classList.toggle("c" + system, closed));
    told();
  });

  // --- filters

  const wanted = {
    name: document.getElementById("by-name"),
    group: document.getElementById("by-group"),
    system: document.getElementById("by-system"),
    mark: document.getElementById("by-mark"),
  };
  const started = data.systems.map((_, system) => grid.classList.contains("c" + system));

  function matches(target) {
    const name = wanted.name.value.trim().toLowerCase();
    if (name && !text(target.n).toLowerCase().includes(name)) return false;
    if (wanted.group.value && !target.g.some((group) => text(group) === wanted.group.value)) return false;
    const system = wanted.system.value === "" ? null : data.systems[Number(wanted.system.value)];
    const mark = wanted.mark.value;
    if (system === null && !mark) return true;
    return target.c.some((story, at) => {
      if (story < 0 || (system !== null && data.gates[at].y !== system)) return false;
      return !mark || data.marks[data.stories[story].m][2] === mark;
    });
  }

  function filter() {
    let shown = 0;
    data.targets.forEach((target, at) => {
      const fits = matches(target);
      body[at].hidden = !fits;
      shown += fits ? 1 : 0;
    });
    data.systems.forEach((_, system) => {
      const other = wanted.system.value !== "" && Number(wanted.system.value) !== system;
      grid.classList.toggle("h" + system, other);
    });
    document.getElementById("shown").textContent = shown + " of " + data.targets.length + " targets shown";
    told();
  }

  form.addEventListener("input", (event) => {
    if (event.target === wanted.system && wanted.system.value !== "") close(Number(wanted.system.value), false);
    filter();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("all-targets").addEventListener("click", () => {
    form.reset();
    data.systems.forEach((_, system) => grid.classList.toggle("c" + system, started[system]));
    filter();
  });
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key !== "/" || typing || dialog.open) return;
    event.preventDefault();
    wanted.name.focus();
  });

  // --- a story by its address

  function linked() {
    const found = /^#story=([^/]*)\/(.*)$/.exec(location.hash);
    if (!found) return;
    let name, gate;
    try {
      [name, gate] = [decodeURIComponent(found[1]), decodeURIComponent(found[2])];
    } catch {
      return;
    }
    const at = data.targets.findIndex((target) => text(target.n) === name);
    const story = data.gates.findIndex((one) => one.i === gate);
    if (at < 0 || story < 0 || data.targets[at].c[story] < 0) return;
    opener = body[at].cells[0];
    openStory(data.targets[at], story);
  }

  form.hidden = false;
  told();
  addEventListener("hashchange", linked);
  linked();
})();
