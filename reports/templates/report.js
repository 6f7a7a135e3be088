"use strict";
(() => {
  const root = document.documentElement;
  const byId = (name) => document.getElementById(name);
  const data = JSON.parse(byId("data").textContent);
  const PAGE = 50;
  const GROUPS = {
    pass: "good", fail: "bad", crash: "bad", timeout: "bad", leak: "bad", flaky: "bad", error: "bad",
    blocked: "warn", inconclusive: "warn", "not-supported": "idle", "not-run": "idle",
  };

  // A page of a file:// address may be refused any storage; it then just forgets.
  const store = {
    get(name) { try { return localStorage.getItem(name); } catch { return null; } },
    set(name, value) { try { localStorage.setItem(name, value); } catch { return; } },
  };

  const chinese = () => root.lang === "zh-CN";
  const word = (name) => data.words[name][chinese() ? 1 : 0];
  const make = (tag, text, kind) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (kind) element.className = kind;
    return element;
  };

  // ------------------------------------------------------------------------------------------------ filtering
  const fields = {
    text: byId("filter-text"), verdict: byId("filter-verdict"), clause: byId("filter-clause"),
    function: byId("filter-function"),
  };
  const open = new Set();
  let found = data.cases;
  let first = 0;

  const option = (value, text) => {
    const element = make("option", text);
    element.value = value;
    return element;
  };

  const namesIn = (column) => {
    const sets = new Set(data.cases.map((row) => row[column]));
    const names = new Set([...sets].flatMap((set) => data.sets[set]));
    return [...names].map((name) => [data.names[name], name]).sort((a, b) => (a[0] < b[0] ? -1 : 1));
  };

  const clauses = namesIn(2);
  const functions = namesIn(1);
  const present = data.verdicts.map((verdict, number) => [verdict, number])
    .filter(([, number]) => data.cases.some((row) => row[3].some((cell) => cell && cell[0] === number)));

  function fill() {
    const kept = Object.values(fields).map((field) => field.value);
    const verdicts = present.map(([verdict, number]) => option(number, word("verdict-" + verdict)));
    if (data.backends.length > 1) verdicts.push(option("differ", word("backends-differ")));
    fields.verdict.replaceChildren(option("", word("any")), ...verdicts);
    fields.clause.replaceChildren(option("", word("any")), ...clauses.map(([name, number]) => option(number, name)));
    fields.function.replaceChildren(option("", word("any")), ...functions.map(([name, number]) => option(number, name)));
    Object.values(fields).forEach((field, place) => { field.value = kept[place]; });
  }

  const setsWith = (value) => {
    if (value === "") return null;
    const number = Number(value);
    return new Set(data.sets.flatMap((set, place) => (set.includes(number) ? [place] : [])));
  };

  const differs = (cells) => new Set(cells.filter(Boolean).map((cell) => cell[0])).size > 1;

  function apply() {
    const text = fields.text.value.trim().toLowerCase();
    const verdict = fields.verdict.value;
    const withClause = setsWith(fields.clause.value);
    const withFunction = setsWith(fields.function.value);
    found = data.cases.filter((row) => (
      (!text || row[0].toLowerCase().includes(text))
      && (!withClause || withClause.has(row[2]))
      && (!withFunction || withFunction.has(row[1]))
      && (verdict === ""
        || (verdict === "differ" ? differs(row[3]) : row[3].some((cell) => cell && cell[0] === Number(verdict))))
    ));
    first = 0;
    show();
  }

  // --------------------------------------------------------------------------------------------------- showing
  function verdictCell(cell) {
    const element = make("td");
    if (!cell) {
      element.append(make("span", word("not-in-run"), "none"));
      return element;
    }
    const verdict = data.verdicts[cell[0]];
    element.append(make("span", word("verdict-" + verdict), "badge " + GROUPS[verdict]), make("span", cell[2] + " ms", "time num"));
    if (cell[3]) element.append(make("span", `${word("accepted")}: ${cell[3]}`, "time"));
    return element;
  }

  function details(row) {
    const line = make("tr", undefined, "more");
    const cell = make("td");
    cell.colSpan = 1 + data.backends.length;
    const list = make("dl");
    const listed = (name, set) => {
      if (!data.sets[set].length) return;
      const value = make("dd");
      value.append(make("code", data.sets[set].map((number) => data.names[number]).join(", ")));
      list.append(make("dt", word(name)), value);
    };
    row[3].forEach((one, place) => {
      if (!one || !data.reasons[one[1]]) return;
      list.append(make("dt", `${word("reason")} (${data.backends[place]})`), make("dd", data.reasons[one[1]], "lines"));
    });
    listed("functions", row[1]);
    listed("clauses", row[2]);
    cell.append(list);
    line.append(cell);
    return line;
  }

  function lines(row) {
    const line = make("tr");
    const head = make("th");
    head.scope = "row";
    const button = make("button", row[0], "open");
    button.type = "button";
    button.setAttribute("aria-expanded", String(open.has(row[0])));
    button.addEventListener("click", () => {
      if (!open.delete(row[0])) open.add(row[0]);
      const expanded = open.has(row[0]);
      button.setAttribute("aria-expanded", String(expanded));
      if (expanded) line.after(details(row));
      else line.nextElementSibling.remove();
    });
    head.append(button);
    line.append(head, ...row[3].map(verdictCell));
    return open.has(row[0]) ? [line, details(row)] : [line];
  }

  function show() {
    const last = Math.min(first + PAGE, found.length);
    byId("rows").replaceChildren(...found.slice(first, last).flatMap(lines));
    const told = found.length ? word("range") : word("nothing");
    byId("range").textContent = told
      .replace("{from}", first + 1).replace("{to}", last).replace("{all}", found.length);
    byId("previous").disabled = first === 0;
    byId("next").disabled = last >= found.length;
  }

  function turn(by) {
    first = Math.max(0, first + by);
    show();
    byId("range").scrollIntoView({ block: "nearest" });
  }

  // ----------------------------------------------------------------------------------------------------- switches
  function speak(language) {
    root.lang = language;
    for (const element of document.querySelectorAll("[data-zh]")) {
      element.dataset.en ??= element.getAttribute("aria-label");
      element.setAttribute("aria-label", chinese() ? element.dataset.zh : element.dataset.en);
    }
    fill();
    show();
  }

  function toggleTheme() {
    const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    root.dataset.theme = (root.dataset.theme ?? system) === "dark" ? "light" : "dark";
    store.set("acl-cts-theme", root.dataset.theme);
  }

  function copy(button) {
    const text = byId(button.dataset.copy).textContent;
    const told = () => {
      const before = [...button.childNodes];
      button.textContent = word("copied");
      setTimeout(() => button.replaceChildren(...before), 1500);
    };
    const byHand = () => {
      const area = make("textarea", text);
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
      button.focus();
      told();
    };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(told, byHand);
    else byHand();
  }

  function reveal() {
    // A link into a folded part opens it.
    const target = location.hash && byId(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let part = target.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
    target.scrollIntoView();
  }

  function filterBy(link) {
    byId("filters").reset();
    const chosen = clauses.find(([name]) => name === link.dataset.clause);
    fields.clause.value = chosen ? chosen[1] : "";
    fields.verdict.value = data.verdicts.indexOf(link.dataset.verdict);
    apply();
  }

  root.classList.add("scripted");
  const theme = store.get("acl-cts-theme");
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  const wanted = store.get("acl-cts-language") ?? (navigator.language.startsWith("zh") ? "zh-CN" : "en");
  speak(wanted === "zh-CN" ? "zh-CN" : "en");
  byId("language").addEventListener("click", () => {
    speak(chinese() ? "en" : "zh-CN");
    store.set("acl-cts-language", root.lang);
  });
  byId("theme").addEventListener("click", toggleTheme);
  byId("previous").addEventListener("click", () => turn(-PAGE));
  byId("next").addEventListener("click", () => turn(PAGE));
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("filters").addEventListener("input", apply);
  byId("filters").addEventListener("reset", () => setTimeout(apply));
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    const link = event.target.closest("[data-clause]");
    if (button) copy(button);
    if (link) filterBy(link);
  });
  addEventListener("hashchange", reveal);
  reveal();
})();
