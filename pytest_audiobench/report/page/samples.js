  // The list of samples beside the card of one: only the rows in view are in the document.
  const ROW_PX = 58;
  const MOST_PRINTED = 200;
  const FEW_PRINTED = 3;
  // Browsers refuse to have the address changed as fast as keys repeat.
  const ADDRESS_MS = 200;
  const KEYS = [["j or ↓", "the next sample"], ["k or ↑", "the one before"], ["Enter", "go to the sample's card"], ["Escape", "back to the list"],
    ["p", "play, or stop, the sample's sound"], ["m", "mark the sample, or take the mark away"], ["/", "search"], ["?", "these keys"]];
  const isNarrow = () => window.matchMedia("(max-width: 60rem)").matches;
  let open = null;
  let place = -1;

  const short = (text) => visible(plainText(text).slice(0, 160)).replace(/\s+/g, " ");

  function snippet(sample) {
    if (sample.scene) return sceneSnippet(sample);
    const answer = (sample.answers.at(-1) || [])[1] || "";
    const said = short(sample.error ?? (chosenOption(sample, answer) || answer));
    const before = sample.change && sample.change !== "same" ? sample.before : null;
    const read = before && (before.text ?? before.label);
    const scorer = scorerOf(sample);
    const wanted = scorer && scorer.right ? "" : short(sample.reference).slice(0, 60);
    return [read ? el("span", { class: "soft" }, short(read).slice(0, 60), " → ") : null, said, wanted ? el("span", { class: "soft" }, ` · reference: ${wanted}`) : null];
  }

  function rowOf(number) {
    const sample = matching[number];
    const scorer = scorerOf(sample);
    const row = el("div", { class: "row", role: "option", id: `row-${number}`, "aria-selected": String(number === place), "aria-posinset": number + 1, "aria-setsize": matching.length },
      el("div", { class: "first" }, sample.isMarked ? el("span", { class: "star", title: "marked" }, "★") : null, changeTag(sample), outcome(sample, true), failureTags(failuresOf(sample, scorer), scorer && scorer.status).slice(0, 2),
        el("span", { class: "id mono" }, visible(sample.id)), sample.sounds.length ? el("span", { title: "its sound is on this page" }, "♪") : null,
        data.evals.length > 1 ? el("span", { class: "soft of" }, visible(named(sample.eval.name, sample.eval.model)), data.epochs > 1 ? ` · ${sample.epoch + 1}` : "") : null),
      el("div", { class: "second", dir: "auto" }, snippet(sample)));
    row.style.top = `${number * ROW_PX}px`;
    row.addEventListener("click", () => { show(number); if (isNarrow()) byId("card").scrollIntoView(); });
    return row;
  }

  function drawRows() {
    const list = byId("list");
    const from = Math.max(0, Math.floor(list.scrollTop / ROW_PX) - 5);
    const to = Math.min(matching.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW_PX) + 5);
    byId("rows").replaceChildren(...Array.from({ length: Math.max(0, to - from) }, (_, number) => rowOf(from + number)));
    if (place >= from && place < to) list.setAttribute("aria-activedescendant", `row-${place}`);
    else list.removeAttribute("aria-activedescendant");
  }

  // Narrow the list to what is chosen; the open sample stays open where it is still among them.
  function select() {
    narrow();
    showFilters();
    place = matching.indexOf(open);
    byId("rows").style.height = `${matching.length * ROW_PX}px`;
    byId("place").textContent = `${count(matching.length)}${matching.length < all.length ? ` of ${count(all.length)}` : ""} samples`;
    byId("none").hidden = matching.length > 0;
    showSelection();
    byId("list").scrollTop = Math.max(0, place) * ROW_PX;
    if (place < 0) show(0, false);
    else drawRows();
    keepAddress(false);
  }

  function show(number, isChosen = true) {
    place = Math.min(Math.max(number, 0), matching.length - 1);
    open = matching[place] || null;
    byId("card").replaceChildren(...(open ? [card(open)] : []));
    const list = byId("list");
    if (place * ROW_PX < list.scrollTop) list.scrollTop = place * ROW_PX;
    else if ((place + 1) * ROW_PX > list.scrollTop + list.clientHeight) list.scrollTop = (place + 1) * ROW_PX - list.clientHeight;
    drawRows();
    if (isChosen) keepAddress(true);
  }

  // Without touching an address that leads to another part of the page, until something is chosen here.
  let isNamed = false;
  let writing = 0;
  function keepAddress(isChosen) {
    isNamed = isNamed || isChosen;
    const wanted = address(isNamed ? open : null);
    clearTimeout(writing);
    const before = location.hash;
    if (wanted === "#" && !before.includes("=")) return;
    writing = setTimeout(() => {
      // Whoever has followed a link meanwhile stays there.
      if (location.hash !== before || wanted === before) return;
      try {
        history.replaceState(null, "", wanted);
      } catch (error) {
        // A frame without an address of its own has nothing to be linked to.
        if (!(error instanceof DOMException)) throw error;
      }
    }, ADDRESS_MS);
  }

  function follow() {
    const wanted = readAddress();
    isNamed = Boolean(wanted);
    open = wanted || open;
    byId("missing").hidden = wanted !== null;
    select();
    if (wanted && matching[place] !== wanted) {
      // A link to a sample is stronger than a filter that leaves it out.
      clearFilters();
      open = wanted;
      select();
    }
    if (wanted) byId("card").replaceChildren(card(wanted));
  }

  function isTyping() {
    return /^(INPUT|SELECT|TEXTAREA|AUDIO)$/.test(document.activeElement.tagName);
  }

  function pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
    const inList = document.activeElement === byId("list");
    const page = Math.max(1, Math.floor(byId("list").clientHeight / ROW_PX) - 1);
    const steps = { j: 1, k: -1, ...(inList ? { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity } : {}) };
    if (event.key === "Escape" && byId("card").contains(document.activeElement)) byId("list").focus();
    else if (isTyping()) return;
    else if (event.key in steps) {
      // The focus stays in the card where it is there, or goes to the list, whose keys are then those of the rows.
      const inCard = byId("card").contains(document.activeElement);
      show(Math.max(0, Math.min(matching.length - 1, place + steps[event.key])));
      (inCard ? byId("card").firstChild : byId("list")).focus({ preventScroll: true });
    }
    else if (event.key === "Enter" && inList && open) { show(place); byId("card").firstChild.focus(); }
    else if (event.key === "/") { byId("samples").scrollIntoView(); byId("search").focus(); }
    else if (event.key === "?") byId("keys").showModal();
    else if (event.key === "p") playOrStop(byId("card"));
    else if (event.key === "m" && open) byId("card").querySelector(".mark").click();
    else return;
    event.preventDefault();
  }

  function keysBox() {
    const close = el("button", { type: "button" }, "Close");
    const box = el("dialog", { id: "keys", "aria-labelledby": "keys-title" }, el("h3", { id: "keys-title" }, "Keys"),
      facts(KEYS.map(([key, what]) => [el("kbd", {}, key), what])), close);
    close.addEventListener("click", () => box.close());
    return box;
  }

  // What the page leaves out, and why.
  function leftOut() {
    const total = data.samples.items.reduce((sum, [, whole]) => sum + whole, 0);
    if (all.length >= total) return null;
    const parts = data.samples.ranks.filter(([, found]) => found).map(([why, found, kept]) =>
      `${kept === found ? "all" : `${count(kept)} of the`} ${count(found)} that ${why}`);
    return el("p", { id: "cut", class: "banner plain", role: "note" },
      `This page has ${count(all.length)} of ${count(total)} samples, to stay small: ${parts.join(", ")}. ${data.files.join(", ")} have all.`);
  }

  function drawPrinted() {
    // What is filtered; else a few of those that should have come out better.
    const isChosen = filter.text || filter.chosen.size;
    const chosen = isChosen ? matching : matching.filter((sample) => sample.change === "worse" || outcomes(sample).some((value) => ["wrong", "unparsed"].includes(value)));
    const shown = chosen.slice(0, isChosen ? MOST_PRINTED : FEW_PRINTED);
    const rest = chosen.length - shown.length;
    byId("printed").replaceChildren(...shown.map((sample) => card(sample, true)), rest ? el("p", {}, `${count(rest)} more samples${isChosen ? "" : " that became worse or are wrong"} are not printed: filter them, or open the page.`) : "");
  }

  function drawSamples(into) {
    const keys = el("button", { type: "button", class: "expand" }, "Keys (?)");
    const list = el("div", { id: "list", role: "listbox", tabindex: "0", "aria-label": "Samples" }, el("div", { id: "rows", role: "presentation" }),
      el("p", { id: "none", class: "soft", hidden: true }, "No sample matches."));
    into.append(...[leftOut(), data.samples.sound_note ? el("p", { class: "small soft", id: "sound-note" }, data.samples.sound_note) : null,
      el("p", { id: "missing", class: "banner warn", role: "alert", hidden: true }, "The sample that this address names is not on the page: look for it in predictions.jsonl."),
      drawFilters(), selectionBox(), el("div", { id: "browser" }, el("div", { id: "found" }, el("div", { class: "line" }, el("output", { id: "place" }), keys), list), el("div", { id: "card" })),
      keysBox(), el("div", { id: "printed" })].filter(Boolean));
    keys.addEventListener("click", () => byId("keys").showModal());
    list.addEventListener("scroll", drawRows, { passive: true });
    new ResizeObserver(drawRows).observe(list);
    document.addEventListener("keydown", pressed);
    window.addEventListener("hashchange", () => { if (!location.hash || location.hash.includes("=")) follow(); });
    window.addEventListener("beforeprint", drawPrinted);
    window.addEventListener("afterprint", () => byId("printed").replaceChildren());
    readMarks();
    follow();
    if (isNamed) byId(isNarrow() ? "card" : "samples").scrollIntoView();
  }

