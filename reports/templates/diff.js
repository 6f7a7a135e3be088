(() => {
  const byId = (name) => document.getElementById(name);
  const data = JSON.parse(byId("data").textContent);
  const PAGE = 50;
  const NOT_THERE = -2;
  const word = (name) => data.words[name][page.chinese() ? 1 : 0];
  const make = (tag, text, kind) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (kind) element.className = kind;
    return element;
  };

  const fields = {
    text: byId("filter-text"), change: byId("filter-change"), clause: byId("filter-clause"), backend: byId("filter-backend"),
  };
  const open = new Set();
  let found = data.rows;
  let first = 0;

  const option = (value, text) => {
    const element = make("option", text);
    element.value = value;
    return element;
  };
  const numbered = (names) => names.map((name, number) => [name, number]);
  const changes = [...new Set(data.rows.map((row) => row[2]))].sort((a, b) => a - b);
  const clauses = numbered(data.clauses).sort((a, b) => (a[0] < b[0] ? -1 : 1));

  function fill() {
    const kept = Object.values(fields).map((field) => field.value);
    const any = () => option("", word("any"));
    fields.change.replaceChildren(any(), ...changes.map((number) => option(number, word("change-" + data.changes[number]))));
    fields.clause.replaceChildren(any(), ...clauses.map(([name, number]) => option(number, name)));
    fields.backend.replaceChildren(any(), ...numbered(data.backends).map(([name, number]) => option(number, name)));
    Object.values(fields).forEach((field, place) => { field.value = kept[place]; });
  }

  function apply() {
    const text = fields.text.value.trim().toLowerCase();
    const is = (field, number) => field.value === "" || Number(field.value) === number;
    found = data.rows.filter((row) => (
      (!text || row[1].toLowerCase().includes(text) || row[3].toLowerCase().includes(text))
      && is(fields.change, row[2]) && is(fields.backend, row[0])
      && (fields.clause.value === "" || row[5].includes(Number(fields.clause.value)))
    ));
    first = 0;
    show();
  }

  function cellOf(cell, place) {
    const element = make("td");
    element.dataset.label = data.versions[place];
    if (cell[0] < 0) {
      element.append(make("span", word(cell[0] === NOT_THERE ? "not there" : "no verdict"), "none"));
      return element;
    }
    const name = cell[3] ? word("stray") : word("verdict-" + data.verdicts[cell[0]]);
    element.append(make("span", name, "badge " + (cell[3] ? "bad" : data.groups[cell[0]])));
    if (cell[2]) element.append(make("span", `${word("accepted")}: ${data.accepted[cell[2]]}`, "time"));
    return element;
  }

  function details(row) {
    const line = make("tr", undefined, "more");
    const cell = make("td");
    cell.colSpan = 2 + data.versions.length;
    const list = make("dl");
    row[4].forEach((one, place) => {
      if (!data.reasons[one[1]]) return;
      list.append(make("dt", `${word("reason")} (${data.versions[place]})`), make("dd", data.reasons[one[1]], "lines"));
    });
    if (row[5].length) {
      const value = make("dd");
      value.append(make("code", row[5].map((number) => data.clauses[number]).join(", ")));
      list.append(make("dt", word("clauses")), value);
    }
    if (data.backends.length > 1) list.append(make("dt", ""), make("dd", data.backends[row[0]]));
    cell.append(list);
    line.append(cell);
    return line;
  }

  function lines(row) {
    const line = make("tr");
    const head = make("th");
    head.scope = "row";
    const key = row[0] + " " + row[1];
    const button = make("button", row[1], "open");
    button.type = "button";
    button.setAttribute("aria-expanded", String(open.has(key)));
    button.addEventListener("click", () => {
      if (!open.delete(key)) open.add(key);
      const expanded = open.has(key);
      button.setAttribute("aria-expanded", String(expanded));
      if (expanded) line.after(details(row));
      else line.nextElementSibling.remove();
    });
    head.append(button);
    if (row[3]) head.append(make("span", `${word("was")} ${row[3]}`, "was"));
    const change = make("td");
    change.append(make("span", word("change-" + data.changes[row[2]]), "badge " + data.looks[row[2]]));
    line.append(head, change, ...row[4].map(cellOf));
    return open.has(key) ? [line, details(row)] : [line];
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

  page.start(() => { fill(); show(); });
  byId("previous").addEventListener("click", () => turn(-PAGE));
  byId("next").addEventListener("click", () => turn(PAGE));
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("filters").addEventListener("input", apply);
  byId("filters").addEventListener("reset", () => setTimeout(apply));
  document.addEventListener("click", (event) => {
    const tile = event.target.closest("[data-change]");
    if (!tile) return;
    byId("filters").reset();
    fields.change.value = data.changes.indexOf(tile.dataset.change);
    fields.backend.value = tile.dataset.backend;
    apply();
    byId("cases").scrollIntoView();
  });
})();
