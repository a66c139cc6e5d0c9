  // Lists of evals: of many the document holds some. A search finds the others, a button has them all, and paper those of results and failures.
  const MOST_LISTED = 60;
  const finders = [];

  // Puts the things that `make` makes into `into`. `textOf` is what a thing is found by. Returns what stands above `into`, if anything.
  function longList(things, noun, textOf, make, into) {
    if (things.length <= MOST_LISTED) {
      into.append(...things.flatMap(make));
      return null;
    }
    const search = el("input", { id: `find-${finders.length}`, type: "search", placeholder: "name, verdict", autocomplete: "off", spellcheck: "false" });
    const place = el("output", { class: "small soft" });
    const all = el("button", { type: "button", class: "expand" }, `Show all ${count(things.length)}`);
    let isWhole = false;
    let first = null;
    const draw = (most) => {
      const text = search.value.trim().toLowerCase();
      const found = things.filter((one) => one !== first && textOf(one).toLowerCase().includes(text));
      const shown = [...(first === null ? [] : [first]), ...found].slice(0, most);
      into.replaceChildren(...shown.flatMap(make));
      const matching = found.length + (first === null ? 0 : 1);
      place.textContent = shown.length === things.length ? `${count(things.length)} ${noun}`
        : `${count(shown.length)} of ${count(matching)} ${noun}${text ? ` that match, of ${count(things.length)}` : ""}`;
      all.hidden = shown.length >= matching;
    };
    const again = () => draw(isWhole ? Infinity : MOST_LISTED);
    let waiting = 0;
    search.addEventListener("input", () => { clearTimeout(waiting); first = null; waiting = setTimeout(again, 120); });
    all.addEventListener("click", () => { isWhole = true; again(); });
    window.addEventListener("beforeprint", () => { if (!search.value.trim() && !into.closest("details")) draw(Infinity); });
    window.addEventListener("afterprint", again);
    finders.push((thing) => {
      if (things.includes(thing)) { first = thing; again(); }
    });
    draw(MOST_LISTED);
    return el("div", { class: "finder", role: "search", "aria-label": `Find ${noun}` }, labelled(`Find ${noun}`, search), " ", place, " ", all);
  }

  // The same as a table; `rowsOf` makes a thing's rows.
  function longTable(things, noun, textOf, heads, rowsOf) {
    const box = table(heads, [], true);
    return [longList(things, noun, textOf, (thing) => withLabels(heads, rowsOf(thing)), box.querySelector("tbody")), box].filter(Boolean);
  }

  // The same as boxes; `boxOf` makes a thing's.
  function longBoxes(things, noun, textOf, boxOf) {
    const boxes = el("div");
    return [longList(things, noun, textOf, (thing) => [boxOf(thing)], boxes), boxes].filter(Boolean);
  }

  // Opens the box of a thing in a section, which the document need not hold yet.
  function openBox(section, id, thing) {
    reveal(byId(section));
    if (!byId(id)) finders.forEach((find) => find(thing));
    reveal(byId(id));
  }

  const evalText = (one) => `${named(one.name, one.model)} ${one.verdict}`;
  // What must be looked at comes first where not all are shown.
  const WORST = ["bad", "warn"];
  const worstFirst = (evals) => (evals.length <= MOST_LISTED ? evals
    : [...WORST.flatMap((tone) => evals.filter((one) => one.tone === tone)), ...evals.filter((one) => !WORST.includes(one.tone))]);

