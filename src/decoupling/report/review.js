"use strict";
// Without this script the page is whole; with it the rows to review can be worked through.
(() => {
  const byId = (id) => document.getElementById(id);
  const root = document.documentElement;

  // Storage may be refused: in a sandbox, in private windows, on some file systems.
  const kept = (key) => { try { return localStorage.getItem(key); } catch { return null; } };
  const keep = (key, value) => { try { localStorage.setItem(key, value); } catch { /* only for this visit */ } };

  function element(tag, properties = {}, ...children) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  }

  // A name cannot steer the page: what is invisible is written as an escape.
  const visible = (text) => text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (c) => {
    const code = c.codePointAt(0).toString(16);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
  });
  const short = (text) => { const all = visible(text); return all.length > 40 ? all.slice(0, 39) + "…" : all; };

  function theme() {
    const button = byId("theme");
    const system = matchMedia("(prefers-color-scheme: dark)");
    const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
    const show = () => {
      button.textContent = isDark() ? "☀ Light" : "☾ Dark";
      button.setAttribute("aria-label", `Switch to the ${isDark() ? "light" : "dark"} theme`);
    };
    const before = kept("decoupling-theme");
    if (before === "dark" || before === "light") root.dataset.theme = before;
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      keep("decoupling-theme", root.dataset.theme);
      show();
    });
    system.addEventListener("change", show);
    show();
  }

  function copying() {
    for (const block of document.querySelectorAll(".command")) {
      const text = block.querySelector("pre");
      const button = element("button", { type: "button", textContent: "Copy" });
      button.setAttribute("aria-label", "Copy this command");
      button.addEventListener("click", async () => {
        try {
          await navigator.clipboard.writeText(text.textContent);
          button.textContent = "Copied";
        } catch {
          getSelection().selectAllChildren(text);
          button.textContent = "Selected";
        }
        setTimeout(() => { button.textContent = "Copy"; }, 1500);
      });
      block.append(button);
    }
  }

  // Text that a spreadsheet would take for a formula gets an apostrophe; plain numbers do not.
  function cell(text) {
    const number = /^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i;
    const safe = /^'*[=+\-@\t\r]/.test(text) && !number.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }

  function review() {
    const data = JSON.parse(byId("review-data").textContent);
    const body = byId("rows").tBodies[0];
    const lines = [...body.rows].map((tr, rank) => ({ ...data.rows[rank], tr, rank }));
    const store = `decoupling-decisions-${data.key}`;
    const decisions = read();

    // Decisions by the name of the row, also those of rows that another report listed.
    function read() {
      const found = new Map();
      try {
        for (const [row, entry] of JSON.parse(kept(store)) ?? []) {
          const known = [entry.class, entry.given].every((name) => name === null || typeof name === "string");
          if (typeof row === "string" && known && ["accept", "reject", "change"].includes(entry.decision)) {
            found.set(row, { decision: entry.decision, class: entry.class, given: entry.given });
          }
        }
      } catch { /* not ours: begin anew */ }
      return found;
    }

    function decide(line, decision, name) {
      const had = decisions.get(line.row);
      if (decision === null || (had?.decision === decision && had.class === name)) decisions.delete(line.row);
      else decisions.set(line.row, { decision, class: name, given: line.given });
      keep(store, JSON.stringify([...decisions]));
      show(line);
      count();
    }
    const accept = (line) => decide(line, "accept", line.suggested);
    const reject = (line) => decide(line, "reject", line.given);

    function controls(line) {
      const label = short(line.row);
      line.accept = element("button", { type: "button", className: "accept", textContent: "Accept" });
      line.reject = element("button", { type: "button", className: "reject", textContent: "Reject" });
      line.change = element("select", {}, element("option", { value: "", textContent: "Change…" }));
      data.classes.forEach((name, c) => line.change.append(element("option", { value: String(c), textContent: short(name) })));
      line.accept.setAttribute("aria-label", `Accept ${short(line.suggested)} for row ${label}`);
      line.reject.setAttribute("aria-label", `Reject, and keep what was given, for row ${label}`);
      line.change.setAttribute("aria-label", `Change to another class for row ${label}`);
      line.accept.addEventListener("click", () => accept(line));
      line.reject.addEventListener("click", () => reject(line));
      line.change.addEventListener("change", () => {
        const name = line.change.value === "" ? null : data.classes[Number(line.change.value)];
        decide(line, name === null ? null : "change", name);
      });
      const group = element("div", { className: "decide" }, line.accept, line.reject, line.change);
      group.setAttribute("role", "group");
      line.tr.append(element("td", { className: "decision" }, group));
      line.tr.addEventListener("keydown", (event) => press(event, line));
      show(line);
    }

    function show(line) {
      const entry = decisions.get(line.row);
      // What was accepted once may not be what is suggested now.
      const decision = entry?.decision === "accept" && entry.class !== line.suggested ? "change" : entry?.decision;
      line.tr.className = decision ?? "";
      line.accept.setAttribute("aria-pressed", String(decision === "accept"));
      line.reject.setAttribute("aria-pressed", String(decision === "reject"));
      line.change.value = decision === "change" ? String(data.classes.indexOf(entry.class)) : "";
      line.change.classList.toggle("chosen", decision === "change");
    }

    function press(event, line) {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
      const key = event.key.toLowerCase();
      if (key === "a") accept(line);
      else if (key === "r") reject(line);
      else if (key === "arrowdown" || key === "arrowup") {
        const seen = [...body.rows].filter((tr) => !tr.hidden);
        const next = seen[seen.indexOf(line.tr) + (key === "arrowdown" ? 1 : -1)];
        const place = [...line.tr.querySelectorAll("button")].indexOf(event.target);
        next?.querySelectorAll("button")[Math.max(place, 0)].focus();
      } else return;
      event.preventDefault();
    }

    function count() {
      const of = (name) => lines.filter((line) => line.tr.className === name).length;
      const done = lines.filter((line) => decisions.has(line.row)).length;
      const seen = lines.filter((line) => !line.tr.hidden).length;
      const shown = seen === lines.length ? "" : ` · ${seen} shown`;
      const others = decisions.size === done ? "" : ` · ${decisions.size - done} earlier, on rows that are not listed now`;
      byId("counter").textContent = `${done} of ${lines.length} decided: ${of("accept")} accepted, ${of("reject")} rejected, ${of("change")} changed${others}${shown}`;
      byId("download").disabled = byId("clear").disabled = decisions.size === 0;
    }

    function filter() {
      const words = byId("search").value.toLowerCase();
      const given = byId("given").value, suggested = byId("suggested").value, state = byId("state").value;
      for (const line of lines) {
        const text = [line.row, line.given ?? "unlabelled", line.suggested].join("\n").toLowerCase();
        const fits = text.includes(words)
          && (given === "" || names.given[Number(given)] === line.given)
          && (suggested === "" || names.suggested[Number(suggested)] === line.suggested)
          && (state === "" || (state === "done") === decisions.has(line.row));
        line.tr.hidden = !fits;
      }
      count();
    }

    const natural = new Intl.Collator("en", { numeric: true });
    const compare = (a, b) => (typeof a === "number" ? a - b : natural.compare(a ?? "", b ?? ""));
    const names = {};
    for (const key of ["given", "suggested"]) {
      names[key] = [...new Set(lines.map((line) => line[key]))].sort(compare);
      names[key].forEach((name, k) => byId(key).append(element("option", { value: String(k), textContent: name === null ? "unlabelled" : short(name) })));
    }

    function sortBy(heading) {
      const key = heading.dataset.sort;
      const first = key === "score" ? "descending" : "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      const direction = heading.getAttribute("aria-sort") === first ? other : first;
      for (const th of heading.parentNode.cells) th.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", direction);
      const sign = direction === "ascending" ? 1 : -1;
      lines.sort((a, b) => sign * compare(a[key], b[key]) || a.rank - b.rank);
      body.append(...lines.map((line) => line.tr));
    }

    function download() {
      const listed = new Map(lines.map((line) => [line.row, line]));
      const table = [["row", "given", "decision", "class"]];
      for (const [row, entry] of decisions) {
        // What was decided on rows that are not listed now still holds.
        const line = listed.get(row) ?? { given: entry.given, suggested: entry.class };
        const moved = entry.decision === "accept" && entry.class !== line.suggested;
        table.push([row, line.given ?? "", moved ? "change" : entry.decision, entry.class ?? ""]);
      }
      const text = table.map((cells) => cells.map(cell).join(",") + "\r\n").join("");
      const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
      element("a", { href: url, download: "decisions.csv" }).click();
      setTimeout(() => URL.revokeObjectURL(url), 1000);
    }

    function clear() {
      if (!confirm("Forget all decisions?")) return;
      decisions.clear();
      keep(store, "[]");
      lines.forEach(show);
      filter();
    }

    const decision = element("th", { className: "decision", textContent: "Decision" });
    decision.setAttribute("scope", "col");
    byId("rows").tHead.rows[0].append(decision);
    for (const heading of document.querySelectorAll("#rows th[data-sort]")) {
      const button = element("button", { type: "button", className: "sort", textContent: heading.textContent });
      button.addEventListener("click", () => sortBy(heading));
      heading.replaceChildren(button);
    }
    lines.forEach(controls);
    byId("search").addEventListener("input", filter);
    for (const id of ["given", "suggested", "state"]) byId(id).addEventListener("change", filter);
    byId("download").addEventListener("click", download);
    byId("clear").addEventListener("click", clear);
    count();
  }

  root.classList.add("js");
  theme();
  copying();
  if (byId("review-data")) review();
  for (const part of document.querySelectorAll(".needs-js")) part.hidden = false;
})();
