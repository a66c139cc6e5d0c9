  // What the samples are filtered by. Every facet gives each sample its values, and counts what a click would leave.
  const MOST_VALUES = 300;
  // Filters of further groups are there once they are asked for, as those of metadata are.
  const MOST_GROUPS = 6;
  const LONGEST_ID = 300;
  const IN_RUN = "as in the run";
  const filter = { text: "", chosen: new Map(), order: "" };
  let matching = all;

  function outcomes(sample) {
    const scorer = scorerOf(sample);
    if (!scorer) return ["not parsed"];
    if (scorer.status === "error") return ["asking failed"];
    if (sample.eval.isControl) return ["control"];
    const found = scorer.right === null ? ["not counted"] : [scorer.right ? "right" : "wrong"];
    return scorer.status === "parsed" ? found : [...found, "unparsed"];
  }

  // The label of its list that a text is, as the confusion matrix counts it: blind to case, and to punctuation at its ends.
  const EDGES = /^[\s"'“”‘’.,;:!?。()[\]{}]+|[\s"'“”‘’.,;:!?。()[\]{}]+$/g;
  const tidied = (text) => text.normalize("NFKC").toLowerCase().replace(EDGES, "").replace(/\s+/g, " ");
  function labelOf(sample, text) {
    const choices = sample.choices.map(plainText);
    return choices.includes(text) ? text : choices.find((one) => tidied(one) === tidied(text));
  }

  function parsedLabels(sample) {
    const scorer = scorerOf(sample);
    if (!scorer || !sample.choices.length || sample.error !== null) return [];
    const { value } = sample.results[sample.scorers.indexOf(scorer)];
    if (value === null) return ["(unparsed)"];
    const text = plainText(value);
    const isLetter = readsLetters(sample, scorer);
    const letter = isLetter && text.length === 1 ? sample.choices[text.charCodeAt(0) - 65] : undefined;
    return [(isLetter ? letter && plainText(letter) : labelOf(sample, text)) ?? "(other)"];
  }

  const hasBaseline = all.some((sample) => sample.change);
  const fields = [...new Set(data.samples.groups.flatMap((group) => Object.keys(group)))];
  const facets = [
    { name: "change", label: "Since the baseline", order: ["worse", "better", "same", "not in it"], of: (sample) => [sample.change || "not in it"], hidden: !hasBaseline },
    { name: "answer", label: "Answer", order: ["wrong", "right", "not counted", "unparsed", "control", "asking failed", "not parsed"], of: outcomes, before: { unparsed: "of them" } },
    { name: "models", label: "Models", order: ["differ"], of: (sample) => (new Set(byAllModels(sample).map((one) => outcomes(one).join())).size > 1 ? ["differ"] : []), hidden: !data.several },
    { name: "failure", label: "Failures", order: data.failures, of: (sample) => failuresOf(sample, scorerOf(sample)) },
    { name: "sound", label: "Sound", order: ["on this page"], of: (sample) => (sample.sounds.length ? ["on this page"] : []) },
    { name: "mark", label: "Marked", order: ["marked"], of: (sample) => (sample.isMarked ? ["marked"] : []), always: true },
    { name: "status", label: "Status", of: (sample) => (scorerOf(sample) ? [scorerOf(sample).status.replaceAll("_", " ")] : []), list: true },
    { name: "suite", label: "Suite", of: (sample) => [sample.eval.suite], list: true },
    { name: "eval", label: "Eval", of: (sample) => [sample.eval.name], list: true },
    { name: "model", label: "Model", of: (sample) => [sample.eval.model], list: true },
    { name: "reference", label: "Reference", of: (sample) => (plainText(sample.reference) ? [labelOf(sample, plainText(sample.reference)) ?? plainText(sample.reference)] : []), list: true, isLate: true, isSorted: true },
    { name: "parsed", label: "Parsed as", of: parsedLabels, list: true, isLate: true, isSorted: true, hidden: !data.labels.length },
    { name: "perturbation", label: "Perturbation", of: (sample) => (sample.eval.perturbation ? [sample.eval.perturbation] : []), list: true },
    ...fields.map((field, number) => ({ name: `group.${field}`, label: field, of: (sample) => valuesOf(sample, field), list: true, isLate: all.some((sample) => !(field in sample.group)), isSorted: true, later: number >= MOST_GROUPS })),
  ];
  // An eval that is not scored by a group may still have its field as metadata.
  function valuesOf(sample, field) {
    if (field in sample.group) return [sample.group[field]];
    return sample.metadata.filter(([own]) => plainText(own) === field).map(([, value]) => plainText(value));
  }
  function inValue(one, other) {
    const [number, otherNumber] = [Number(one), Number(other)];
    return Number.isNaN(number - otherNumber) ? one.localeCompare(other, undefined, { numeric: true }) : number - otherNumber;
  }
  function fillFacet(facet) {
    const found = new Map();
    for (const sample of all) for (const value of facet.of(sample)) found.set(value, (found.get(value) || 0) + 1);
    facet.isLate = false;
    facet.values = facet.always ? facet.order : facet.order ? facet.order.filter((value) => found.has(value)) : [...found.keys()].slice(0, MOST_VALUES);
    if (facet.isSorted) facet.values.sort(inValue);
    facet.counts = found;
    facet.hidden = !facet.always && (facet.hidden || facet.values.length < (facet.list ? 2 : 1));
  }
  for (const facet of facets) if (!facet.isLate) fillFacet(facet);
  // Of filters that show the same values the first is enough; an address may name the others.
  const seen = new Set();
  for (const facet of facets.filter((one) => one.list && !one.hidden && !one.isLate)) {
    const shown = JSON.stringify([...facet.counts].sort());
    facet.isTwin = seen.has(shown);
    facet.later ||= facet.isTwin;
    seen.add(shown);
  }

  // Every other metadata field: their values lie with what the cards show, which is read when a reader first asks for them.
  const METADATA = "metadata.";
  let metadataNames = null;
  function metadataFields() {
    metadataNames ??= [...new Set(all.flatMap((sample) => sample.field(3).map(plainText)))].filter((name) => !fields.includes(name));
    return metadataNames;
  }

  function addMetadata(name) {
    const known = facets.find((one) => one.name === METADATA + name || (one.later && one.label === name));
    if (known) showLater(known);
    if (known || !metadataFields().includes(name)) return;
    const values = all.map((sample) => valuesOf(sample, name));
    const facet = { name: METADATA + name, label: name, of: (sample) => values[sample.number], list: true, isSorted: true, hidden: false };
    fillFacet(facet);
    facet.hidden = false;
    facets.push(facet);
    showLater(facet);
  }

  function showLater(facet) {
    facet.later = false;
    if (byId("pickers") && !facet.pick && !facet.hidden) byId("pickers").append(picker(facet));
  }

  function metadataPicker() {
    const pick = el("select", { id: "metadata" }, el("option", { value: "" }, "choose a field"));
    const fill = () => { if (pick.options.length === 1) pick.append(...[...facets.filter((one) => one.later && !one.hidden && !one.isTwin).map((one) => one.label), ...metadataFields()].map((name) => el("option", { value: name }, visible(name).slice(0, 80)))); };
    for (const event of ["focus", "pointerdown"]) pick.addEventListener(event, fill);
    pick.addEventListener("change", () => { if (pick.value) addMetadata(pick.value); pick.value = ""; select(); });
    return labelled("More metadata", pick);
  }

  // One pass: a sample that only one facet keeps out still counts for that facet's other values.
  function narrow() {
    const active = facets.filter((facet) => filter.chosen.has(facet.name));
    for (const facet of facets) facet.counts = new Map();
    const text = filter.text.trim().toLowerCase();
    matching = all.filter((sample) => {
      let against = null;
      for (const facet of active) {
        if (facet.of(sample).includes(filter.chosen.get(facet.name))) continue;
        if (against !== null) return false;
        against = facet;
      }
      if (text && !words(sample).includes(text)) return false;
      for (const facet of against === null ? facets : [against]) {
        if (facet.hidden || facet.isLate) continue;
        for (const value of facet.of(sample)) facet.counts.set(value, (facet.counts.get(value) || 0) + 1);
      }
      return against === null;
    });
    const order = data.samples.orders.indexOf(filter.order);
    if (order >= 0) matching = inOrder(matching, order);
    else if (filter.order !== IN_RUN) matching = fromWorst(matching);
  }

  // What was right in the baseline and is not, what else became worse, what is wrong, what has no value, then the lowest scores; in each of these
  // every clip once before one comes again; equals stay in the run's order.
  function fromWorst(samples) {
    const scoresOf = [...data.samples.orders.keys()].filter((number) => data.samples.orders[number].startsWith("worst "));
    const keys = new Map(samples.map((sample) => {
      const scorer = scorerOf(sample);
      const score = scoresOf.map((number) => sample.orders.get(number)).find((value) => value !== undefined) ?? Infinity;
      const kind = sample.eval.isControl ? 4 : sample.isLost ? -1 : sample.change === "worse" ? 0 : !scorer ? 2 : scorer.status !== "parsed" ? 2 : scorer.right === false && score === Infinity ? 1 : 3;
      return [sample, [kind, score]];
    }));
    const scored = [...samples].sort((one, other) => {
      const [[kind, score], [otherKind, otherScore]] = [keys.get(one), keys.get(other)];
      return kind - otherKind || (score === otherScore ? 0 : score - otherScore);
    });
    // What a clip gave under several perturbations would fill the list: it comes again when every other clip was there.
    const times = new Map();
    for (const sample of scored) {
      const [kind] = keys.get(sample);
      const clip = JSON.stringify([kind, sample.eval.suite, sample.eval.model, sample.id]);
      times.set(clip, (times.get(clip) || 0) + 1);
      keys.set(sample, [kind, times.get(clip)]);
    }
    return scored.sort((one, other) => keys.get(one)[0] - keys.get(other)[0] || keys.get(one)[1] - keys.get(other)[1]);
  }

  // What has no such number comes last; equals stay in the run's order.
  function inOrder(samples, order) {
    const place = (sample) => sample.orders.get(order) ?? Infinity;
    return [...samples].sort((one, other) => (place(one) === place(other) ? 0 : place(one) - place(other)));
  }

  function choose(name, value) {
    if (value === "" || value === null || filter.chosen.get(name) === value) filter.chosen.delete(name);
    else filter.chosen.set(name, value);
  }

  function chips(facet) {
    facet.buttons = facet.values.map((value) => {
      const number = el("span", { class: "count" });
      const button = el("button", { type: "button", class: "chip" }, visible(value), " ", number);
      button.addEventListener("click", () => {
        choose(facet.name, value);
        select();
      });
      return { value, button, number };
    });
    return el("fieldset", { class: "chips" }, el("legend", {}, facet.label), facet.buttons.map(({ value, button }) => [facet.before && facet.before[value] ? el("span", { class: "soft" }, facet.before[value]) : null, button]));
  }

  const labelled = (label, control) => el("span", { class: "labelled" }, el("label", { for: control.id }, label), " ", control);

  function picker(facet) {
    facet.pick = el("select", { id: `pick-${facets.indexOf(facet)}` }, facet.isLate ? el("option", { value: "" }, "all") : null);
    const fill = () => { if (facet.isLate) { fillFacet(facet); facet.hidden = false; narrow(); showFilters(); } };
    for (const event of ["focus", "pointerdown"]) facet.pick.addEventListener(event, fill);
    facet.pick.addEventListener("change", () => {
      choose(facet.name, null);
      if (facet.pick.value) choose(facet.name, facet.values[Number(facet.pick.value) - 1]);
      select();
    });
    return labelled(visible(facet.label), facet.pick);
  }

  function drawFilters() {
    const search = el("input", { id: "search", type: "search", placeholder: "id, question, answer, reference, metadata", autocomplete: "off", spellcheck: "false" });
    const scorers = [...new Set(data.evals.flatMap((one) => one.scorers))];
    const scorer = el("select", { id: "scorer" }, el("option", { value: "" }, "headline scorer"), scorers.map((name) => el("option", { value: name }, visible(name))));
    const order = el("select", { id: "order" }, el("option", { value: "" }, "worst first, repeats of a clip later"), el("option", { value: IN_RUN }, IN_RUN), data.samples.orders.map((name) => el("option", { value: name }, visible(name))));
    const clear = el("button", { type: "button", id: "clear" }, "Clear filters");
    // On a narrow page the filters wait behind this button.
    const more = el("button", { type: "button", id: "more-filters", "aria-expanded": "false", "aria-controls": "facets" }, "More filters");
    more.addEventListener("click", () => more.setAttribute("aria-expanded", String(byId("facets").classList.toggle("open"))));
    let waiting = 0;
    search.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => { filter.text = search.value; select(); }, 120);
    });
    scorer.addEventListener("change", () => { chosenScorer = scorer.value; select(); });
    order.addEventListener("change", () => { filter.order = order.value; open = null; select(); });
    clear.addEventListener("click", () => { clearFilters(); select(); });
    const form = el("form", { id: "filter", role: "search", "aria-label": "Samples" },
      el("div", { class: "line" }, labelled("Search", search), clear, more),
      el("div", { id: "facets" }, facets.filter((facet) => !facet.hidden && !facet.list).map(chips),
        el("div", { class: "line", id: "pickers" }, labelled("Order", order), scorers.length > 1 ? labelled("Scorer", scorer) : null, metadataPicker(),
          facets.filter((facet) => !facet.hidden && facet.list && !facet.later).map(picker))));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      filter.text = search.value;
      select();
    });
    return form;
  }

  function clearFilters() {
    filter.text = "";
    filter.chosen.clear();
    filter.order = "";
    chosenScorer = "";
  }

  // What is chosen and how many each choice would leave, into the form.
  function showFilters() {
    if (document.activeElement !== byId("search")) byId("search").value = filter.text;
    if (byId("scorer")) byId("scorer").value = chosenScorer;
    if (byId("order")) byId("order").value = filter.order;
    byId("more-filters").textContent = filter.chosen.size ? `More filters (${count(filter.chosen.size)} chosen)` : "More filters";
    byId("clear").disabled = !filter.text && !filter.chosen.size && !chosenScorer && !filter.order;
    for (const facet of facets) {
      const chosen = filter.chosen.get(facet.name);
      for (const { value, button, number } of facet.buttons || []) {
        number.textContent = count(facet.counts.get(value) || 0);
        button.setAttribute("aria-pressed", String(value === chosen));
      }
      if (facet.pick && !facet.isLate) {
        facet.pick.replaceChildren(el("option", { value: "" }, "all"), ...facet.values.map((value, number) =>
          el("option", { value: number + 1, selected: value === chosen }, `${visible(value).slice(0, 80)} (${count(facet.counts.get(value) || 0)})`)));
      }
    }
  }

  // The page's address says what is filtered and which sample is open, so that both can be pasted.
  function address(sample) {
    const found = new URLSearchParams();
    if (filter.text) found.set("q", filter.text);
    if (chosenScorer) found.set("scorer", chosenScorer);
    if (filter.order) found.set("order", filter.order);
    for (const [name, value] of filter.chosen) found.set(name, value);
    if (sample) for (const [name, value] of named_(sample)) found.set(name, value);
    return `#${found}`;
  }

  // A sample's name in an address: its id, and where the page holds more than one of that id, whose it is.
  function named_(sample) {
    const found = [["sample", sample.id]];
    if (data.evals.length > 1) found.push(["of", sample.eval.name]);
    if (data.several) found.push(["by", sample.eval.model]);
    if (data.epochs > 1) found.push(["epoch", sample.epoch + 1]);
    return found;
  }

  // A list shows some of its values; an address may name any.
  function hasValue(facet, value) {
    if (facet.values.includes(value)) return true;
    const isRare = value !== null && facet.list && all.some((sample) => facet.of(sample).includes(value));
    if (isRare) facet.values.push(value);
    return isRare;
  }

  // Returns what the address says of a sample: undefined for nothing, null for one that the page does not hold.
  function readAddress() {
    const found = new URLSearchParams(location.hash.slice(1));
    clearFilters();
    filter.text = found.get("q") || "";
    chosenScorer = data.evals.some((one) => one.scorers.includes(found.get("scorer"))) ? found.get("scorer") : "";
    for (const name of found.keys()) if (name.startsWith(METADATA)) addMetadata(name.slice(METADATA.length));
    if ([IN_RUN, ...data.samples.orders].includes(found.get("order"))) filter.order = found.get("order");
    for (const facet of facets) {
      if (facet.isLate && found.has(facet.name)) fillFacet(facet), facet.hidden = false;
      if (!facet.hidden && !facet.isLate && hasValue(facet, found.get(facet.name))) showLater(facet), filter.chosen.set(facet.name, found.get(facet.name));
    }
    if (!found.has("sample")) return undefined;
    const is = (name, value) => !found.has(name) || found.get(name) === String(value);
    const id = found.get("sample");
    return all.find((one) => (one.id === id || (one.id.length >= LONGEST_ID && id.startsWith(one.id))) && is("of", one.eval.name) && is("by", one.eval.model) && is("epoch", one.epoch + 1)) || null;
  }

