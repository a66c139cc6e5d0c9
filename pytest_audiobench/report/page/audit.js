  // An audit: what each check says of each eval, and a card with its sounds for each suspect item.
  const sounds = [...document.querySelectorAll("script.sound")];
  const seconds = (value) => `${value.toFixed(1)} s`;

  function drawHeading() {
    byId("heading").append(
      themeButton(),
      el("h1", {}, "Audit of the data"),
      el("p", { class: "overall" }, `${data.headline}. No score is changed by this.`),
      facts([["By", data.sides.join(", ")]]),
      ...data.notes.map((note) => el("p", { class: "banner plain", role: "note" }, note)));
  }

  function drawChecks() {
    const rows = data.checks.map((check) => el("tr", {}, el("th", { scope: "row" }, check.eval), el("td", { class: "nowrap" }, check.name),
      el("td", { class: "number" }, count(check.items)), el("td", {}, check.summary)));
    byId("checks").append(table([["Eval"], ["Check"], ["Items", true], ["Result"]], rows, true));
  }

  function card(suspect) {
    const options = suspect.choices.length ? suspect.choices.join(" | ") : null;
    const box = el("div", { class: "suspect" },
      el("h4", {}, suspect.id, " ", el("span", { class: "small soft" }, `strength ${suspect.strength.toFixed(2)}`)),
      facts([["Why", suspect.reason], ["Question", suspect.question], ["Options", options], ["Reference", suspect.reference], ["Models' answers", suspect.answers]]));
    box.append(...suspect.sounds.map(player));
    return box;
  }

  function drawSuspects() {
    const groups = new Map();
    for (const suspect of data.suspects) {
      const name = `${suspect.eval}, ${suspect.check}`;
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(suspect);
    }
    for (const [name, suspects] of groups) {
      const box = el("details", { open: groups.size === 1 }, el("summary", {}, `${name}: ${count(suspects.length)}`));
      whenOpen(box, () => suspects.map(card));
      byId("suspects").append(box);
    }
    if (!groups.size) byId("suspects").append(el("p", {}, "None."));
    if (data.left_out) byId("suspects").append(el("p", {}, `${count(data.left_out)} more are in suspects.csv beside this page.`));
  }

  drawHeading();
  drawChecks();
  drawSuspects();
  byId("footer").append("Written by pytest-audiobench. An item that is suspect may be right: listen to it, then correct it or leave it.");
