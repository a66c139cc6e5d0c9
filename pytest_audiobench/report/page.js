"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const PER_PAGE = 25;
  const SHORT = 600;

  // Everything enters the document here, as text: nothing on this page is ever parsed as markup.
  function el(tag, options, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(options || {})) {
      if (value === null || value === undefined || value === false) continue;
      node.setAttribute(name, value === true ? "" : String(value));
    }
    for (const child of children.flat(Infinity)) {
      if (child === null || child === undefined || child === "") continue;
      node.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
    return node;
  }

  // Characters that show nothing, or that turn the text around them, are shown by a sign instead.
  const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;
  function visible(text) {
    return text.replace(HIDDEN, (character) => `\u27e8U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}\u27e9`);
  }

  function longText(value, className) {
    const [text, missing] = Array.isArray(value) ? value : [value, 0];
    const shown = visible(text);
    const rest = missing ? ` … ${missing.toLocaleString("en")} more characters are in predictions.jsonl` : "";
    const body = el("span", { class: "text", dir: "auto" });
    const box = el("div", { class: className }, body);
    if (shown.length <= SHORT * 1.3) {
      body.textContent = shown + rest;
      return box;
    }
    const button = el("button", { type: "button", class: "expand" });
    const draw = (open) => {
      body.textContent = open ? shown + rest : shown.slice(0, SHORT) + "…";
      button.textContent = open ? "Show less" : `Show all ${(text.length + missing).toLocaleString("en")} characters`;
      button.setAttribute("aria-expanded", String(open));
    };
    button.addEventListener("click", () => draw(button.getAttribute("aria-expanded") !== "true"));
    draw(false);
    box.append(el("br"), button);
    return box;
  }

  const plainText = (value) => (Array.isArray(value) ? value[0] : value === null ? "" : value);
  const tag = (tone, text) => el("span", { class: `tag ${tone}` }, text);
  const SIGNS = { good: "✓ ", bad: "✗ ", warn: "! ", plain: "" };
  const named = (name, model) => (data.several ? `${name} · ${model}` : name);

  function facts(pairs) {
    const list = el("dl", { class: "facts" });
    for (const [name, value] of pairs) {
      if (value !== null && value !== "") list.append(el("dt", {}, name), el("dd", {}, value));
    }
    return list;
  }

  function table(heads, rows) {
    const top = el("tr", {}, heads.map(([text, numeric]) => el("th", { scope: "col", class: numeric ? "number" : null }, text)));
    return el("div", { class: "scroll" }, el("table", {}, el("thead", {}, top), el("tbody", {}, rows)));
  }

  const utc = (text) => text.replace("T", " ").replace(/(\.\d+)?(Z|\+00:00)$/, " UTC");

  function drawHeading() {
    const models = data.models.map((model, number) =>
      el("div", {}, el("strong", {}, visible(model.alias)), model.spec === model.alias ? "" : ` ${visible(model.spec)}`,
        el("span", { class: "soft" }, [data.facts[number].device || model.device, model.batching].filter(Boolean).map((text) => ` · ${visible(text)}`).join("")),
        ["judging", "speed", "hearing"].filter((name) => data.facts[number][name]).map((name) =>
          el("div", { class: "small soft" }, `${name}: `, visible(data.facts[number][name])))));
    byId("heading").append(
      el("h1", {}, visible(data.run), " ", tag(data.failed ? "bad" : "good", (data.failed ? "✗ " : "✓ ") + data.exit)),
      facts([
        ["Run", `${utc(data.started)} to ${utc(data.finished)}`],
        [data.models.length === 1 ? "Model" : "Models", el("div", {}, models)],
        ["Command", el("code", {}, visible(data.command.join(" ")))],
      ]),
      ...data.banners.map((banner) => el("p", { class: `banner ${banner.tone}`, role: "note" }, SIGNS[banner.tone], banner.text)));
  }

  function answeredCell(block) {
    return el("td", { class: "number" }, block.answered, block.unanswered ? el("div", { class: "small soft" }, block.unanswered) : null);
  }

  // A signature may be broken after each of its fields, and only there while there is room.
  const breakable = (signature) => visible(signature).split(/(?<=\|)/).map((field) => [field, el("wbr")]);

  function checkList(checks) {
    return el("ul", {}, checks.map((check) => el("li", {},
      el("span", { class: check.tone }, `${check.mark} ${check.status}`), " ", el("code", {}, visible(check.threshold)),
      check.tone !== "good" && check.detail ? el("div", { class: "small soft" }, visible(check.detail)) : null)));
  }

  // With one protocol only, its name beside every number would say nothing.
  const protocols = new Set(data.evals.flatMap((one) => one.blocks.map((block) => block.reading)).filter(Boolean));
  const FIGURE_HEADS = [["Metric"], ["Value", true], ["Interval", true], ["n", true]];

  function figureCells(figure, reading) {
    return [
      el("td", { class: "nowrap" }, visible(figure.metric), 
        reading && protocols.size > 1 ? el("div", { class: "small soft" }, visible(reading)) : null),
      el("td", { class: "number value" }, figure.value),
      el("td", { class: "number" }, figure.interval),
      el("td", { class: "number" }, figure.n.toLocaleString("en")),
    ];
  }

  // One row for each figure; the leading and trailing cells of the owner stand in its first row only.
  function figureRows(blocks, leading, trailing) {
    const figures = blocks.flatMap((block) => block.figures.map((figure, number) => ({ block, figure, first: number === 0 })));
    if (!figures.length) {
      return [el("tr", {}, leading(true), el("td", { colspan: 5, class: "soft" }, "no figure"), trailing(true), el("td"))];
    }
    return figures.map(({ block, figure, first }, number) =>
      el("tr", { class: number < figures.length - 1 ? "joined" : null }, leading(number === 0),
        figureCells(figure, first ? block.reading : ""), first ? answeredCell(block) : el("td"), trailing(number === 0),
        el("td", { class: "signature mono" }, first ? breakable(block.signature) : "")));
  }

  function drawVerdicts() {
    const checked = data.evals.some((one) => one.checks.length);
    const heads = [["Eval"], ...(data.several ? [["Model"]] : []), ["Verdict"], ...FIGURE_HEADS, ["Answered", true],
      ...(checked ? [["Checks"]] : []), ["Protocol"]];
    const rows = data.evals.flatMap((one) => figureRows(one.blocks,
      (first) => first
        ? [el("th", { scope: "row" }, visible(one.name)), data.several ? el("td", {}, visible(one.model)) : null,
          el("td", {}, tag(one.tone, SIGNS[one.tone] + one.verdict))]
        : [el("td"), data.several ? el("td") : null, el("td")],
      (first) => (checked ? el("td", { class: "checks" }, first && one.checks.length ? checkList(one.checks) : null) : null)));
    byId("verdicts").append(data.evals.length ? table(heads, rows) : el("p", { class: "soft" }, "No eval was run."));
  }

  function drawSuites() {
    const pooled = data.suites.filter((suite) => suite.evals > 1);
    if (!pooled.length) return;
    byId("suites").hidden = false;
    const heads = [["Suite"], ...(data.several ? [["Model"]] : []), ["Evals", true], ...FIGURE_HEADS, ["Answered", true], ["Protocol"]];
    const rows = pooled.flatMap((suite) => figureRows(suite.blocks,
      (first) => [first ? el("th", { scope: "row" }, visible(suite.name)) : el("td"), data.several ? el("td", {}, first ? visible(suite.model) : "") : null,
        el("td", { class: "number" }, first ? suite.evals : "")],
      () => null));
    byId("suites").append(table(heads, rows));
    for (const suite of pooled) {
      const own = groups(suite.blocks);
      if (own) byId("suites").append(el("details", {}, el("summary", {}, visible(named(suite.name, suite.model)), " by group"), own));
    }
  }

  function groups(blocks) {
    const rows = blocks.flatMap((block) => block.groups.map((figure) =>
      el("tr", {}, el("th", { scope: "row" }, visible(figure.group)), figureCells(figure, block.reading))));
    return rows.length ? table([["Group"], ...FIGURE_HEADS], rows) : null;
  }

  function drawTroubles() {
    const found = data.notes.map((note) => el("li", {}, tag("warn", "! note"), " ", visible(note)));
    const skips = new Map();
    for (const one of data.evals.filter((one) => one.outcome === "skipped" && one.message)) {
      skips.set(one.message, [...(skips.get(one.message) || []), named(one.name, one.model)]);
    }
    for (const [message, names] of skips) {
      found.push(el("li", {}, tag("warn", "skipped"), " ", el("strong", {}, visible(names.join(", ")), ": "), longText(message, "")));
    }
    for (const one of data.evals) {
      const name = el("strong", {}, visible(named(one.name, one.model)), ": ");
      if (one.message && one.outcome !== "skipped") found.push(el("li", {}, tag(one.tone, one.outcome), " ", name.cloneNode(true), longText(one.message, "")));
      for (const error of one.errors) {
        found.push(el("li", {}, tag("bad", "✗ error"), " ", name.cloneNode(true), el("code", {}, visible(error.sample_id)), " ", visible(error.message)));
      }
      for (const warning of one.warnings) found.push(el("li", {}, tag("warn", "! warning"), " ", name.cloneNode(true), visible(warning)));
    }
    if (!found.length) return;
    byId("troubles").hidden = false;
    byId("troubles").append(el("ul", {}, found));
  }

  function drawDetails() {
    for (const one of data.evals) {
      const methods = one.blocks.flatMap((block) => block.figures.map((figure) =>
        el("div", {}, `${visible(figure.metric)}${block.reading ? ` (${visible(block.reading)})` : ""}: ${visible(figure.method)}`)));
      const asking = Object.entries(one.asking).filter(([, count]) => count).map(([name, count]) => `${count} ${name.replaceAll("_", " ")}`);
      byId("details").append(el("details", {}, el("summary", {}, visible(named(one.name, one.model))), groups(one.blocks),
        facts([
          ["Intervals", el("div", {}, methods)],
          ["Asking", asking.join(", ")],
          ["Agreement", one.agreement ? Object.entries(one.agreement).map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(", ") : value}`).join(" · ") : ""],
          ...Object.entries(one.hashes).map(([name, hash]) => [name.replaceAll("_", " "), el("span", { class: "mono" }, visible(String(hash)))]),
        ])));
    }
    const runtime = Object.entries(data.runtime).map(([name, value]) =>
      [name, typeof value === "object" && value !== null ? Object.entries(value).map(([key, one]) => `${key} ${one}`).join(", ") : String(value)]);
    const models = data.models.flatMap((model) => Object.entries(model.fingerprint || {}).map(([name, value]) =>
      [`${model.alias} ${name}`, el("span", { class: "mono" }, visible(String(value)))]));
    byId("details").append(el("details", {}, el("summary", {}, "The run"), facts([
      ...Object.entries(data.hashes).map(([name, hash]) => [name.replaceAll("_", " "), el("span", { class: "mono" }, hash || "none")]),
      ...models, ...runtime].map(([name, value]) => [visible(name), value instanceof Node ? value : visible(value)]))));
  }

  // Samples.
  const all = data.samples.flatMap((item) => item.rows.map((row) => {
    const [id, epoch, question, choices, reference, stages, error, readings, group, audio] = row;
    return { item: item.item, id, epoch, question, choices, reference, stages, error, readings, group, audio, words: null };
  }));
  let matching = all;
  let page = 0;

  function readingOf(sample) {
    const wanted = byId("reading").value;
    const found = sample.readings.find((one) => one[0] === wanted) || (wanted ? null : sample.readings[0]);
    if (!found) return null;
    const [name, status, value, scores, right] = found;
    return { name, status, value, scores, right };
  }

  function words(sample) {
    if (sample.words === null) {
      const texts = [sample.id, sample.question, ...sample.choices, sample.reference, ...sample.stages.map((stage) => stage[1]), sample.error,
        ...sample.readings.map((one) => one[2]), ...sample.audio.map((clip) => clip[0]), ...Object.values(sample.group)];
      sample.words = texts.map((text) => String(plainText(text === undefined ? null : text))).join("\n").toLowerCase();
    }
    return sample.words;
  }

  function select() {
    const text = byId("search").value.trim().toLowerCase();
    const which = byId("which").value;
    const wrong = byId("wrong").checked;
    const unparsed = byId("unparsed").checked;
    matching = all.filter((sample) => {
      if (which !== "" && sample.item !== Number(which)) return false;
      const reading = readingOf(sample);
      if (wrong && !(reading && reading.right === false)) return false;
      if (unparsed && (!reading || reading.status === "parsed" || reading.status === "error")) return false;
      return !text || words(sample).includes(text);
    });
    page = 0;
    drawList();
  }

  function outcome(sample, reading) {
    if (sample.error !== null) return tag("bad", "! asking failed");
    if (!reading) return tag("plain", "not read");
    if (reading.status !== "parsed") return tag("warn", `? ${reading.status.replaceAll("_", " ")}${reading.right === false ? ", counts as wrong" : ""}`);
    if (reading.right === null) return tag("plain", "read");
    return reading.right ? tag("good", "✓ right") : tag("bad", "✗ wrong");
  }

  function choiceList(sample, reading) {
    const reference = plainText(sample.reference);
    return el("ol", { class: "choices" }, sample.choices.map((choice, number) => {
      const text = plainText(choice);
      const letter = number < 26 ? String.fromCharCode(65 + number) : String(number + 1);
      const isReference = text === reference;
      const isAnswer = reading && reading.status === "parsed" && (reading.value === letter || reading.value === text);
      return el("li", {}, el("span", { class: "letter" }, letter), el("span", { class: "text", dir: "auto" }, visible(text)),
        isReference ? el("span", { class: "note good" }, "reference") : null,
        isAnswer ? el("span", { class: `note ${isReference ? "good" : "bad"}` }, isReference ? "✓ answered" : "✗ answered") : null);
    }));
  }

  const seconds = (value) => `${value.toFixed(1)} s`;

  function clip([source, duration, truncated]) {
    return el("div", { class: "mono soft" }, visible(source), duration === null || duration === undefined ? "" : ` · ${seconds(duration)}`,
      truncated ? el("span", { class: "warn" }, ` · ! ${seconds(truncated)} cut off at the end`) : null);
  }

  function readingLine([name, status, value, scores]) {
    return el("div", {}, el("strong", {}, visible(name)), ` ${status.replaceAll("_", " ")}`,
      value === null ? null : [": ", longText(value, "inline")], scores ? el("span", { class: "mono soft" }, ` ${visible(scores)}`) : null);
  }

  function card(sample) {
    const one = data.evals[sample.item];
    const reading = readingOf(sample);
    const list = el("dl", {});
    const add = (name, ...nodes) => list.append(el("dt", {}, name), el("dd", {}, nodes));
    if (plainText(sample.question)) add("Question", longText(sample.question, ""));
    if (sample.choices.length) add("Choices", choiceList(sample, reading));
    if (!sample.choices.length || !sample.choices.some((choice) => plainText(choice) === plainText(sample.reference))) {
      add("Reference", longText(sample.reference, ""));
    }
    for (const [stage, text, finish] of sample.stages) {
      const several = new Set(sample.stages.map((other) => other[0])).size > 1;
      const note = finish === "stop" || finish === "unknown" ? "" : ` (finish: ${visible(finish)})`;
      add((several ? `Answer, ${visible(stage)}` : "Answer") + note,
        plainText(text) === "" ? el("div", { class: "answer soft" }, "an empty answer") : longText(text, "answer"));
    }
    if (sample.error !== null) add("Error", longText(sample.error, "bad"));
    if (sample.readings.length) add("Read as", sample.readings.map(readingLine));
    if (sample.audio.length) add("Audio", sample.audio.map(clip));
    const group = Object.entries(sample.group).map(([name, value]) => `${name}=${value}`).join(" · ");
    return el("article", { class: "sample" },
      el("header", {}, outcome(sample, reading), el("span", { class: "id mono" }, visible(sample.id)),
        el("span", { class: "small" }, visible(named(one.name, one.model))), data.epochs > 1 ? el("span", { class: "small soft" }, `epoch ${sample.epoch + 1}`) : null,
        el("span", { class: "small soft" }, visible(group))), list);
  }

  function drawList() {
    const pages = Math.max(1, Math.ceil(matching.length / PER_PAGE));
    const from = page * PER_PAGE;
    const shown = matching.slice(from, from + PER_PAGE);
    byId("list").replaceChildren(...(shown.length ? shown.map(card) : [el("p", { class: "soft" }, "No sample matches.")]));
    byId("place").textContent = matching.length
      ? `${from + 1} to ${from + shown.length} of ${matching.length.toLocaleString("en")}${matching.length < all.length ? ` (of ${all.length.toLocaleString("en")})` : ""}, page ${page + 1} of ${pages}`
      : `0 of ${all.length.toLocaleString("en")}`;
    for (const id of ["previous", "previous-below"]) byId(id).disabled = page === 0;
    for (const id of ["next", "next-below"]) byId(id).disabled = page >= pages - 1;
  }

  function turn(by, above) {
    page += by;
    drawList();
    if (above) byId("samples").scrollIntoView();
  }

  function drawSamples() {
    const readings = [...new Set(all.flatMap((sample) => sample.readings.map((one) => one[0])))];
    byId("reading").append(...readings.map((name) => el("option", { value: name }, visible(name))));
    byId("reading").parentElement.hidden = readings.length < 2;
    byId("which").append(el("option", { value: "" }, "all"), ...data.samples.map((item) => {
      const one = data.evals[item.item];
      return el("option", { value: item.item }, visible(named(one.name, one.model)));
    }));
    byId("which").parentElement.hidden = data.samples.length < 2;
    const total = data.samples.reduce((sum, item) => sum + item.total, 0);
    if (all.length < total) {
      byId("cut").append(el("p", { class: "banner plain", role: "note" },
        `This page holds the first ${all.length.toLocaleString("en")} of ${total.toLocaleString("en")} samples, to stay small; ${data.files.join(", ")} beside it hold all.`));
    }
    let waiting = 0;
    byId("search").addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(select, 120);
    });
    for (const id of ["which", "reading", "wrong", "unparsed"]) byId(id).addEventListener("change", select);
    byId("filter").addEventListener("submit", (event) => {
      event.preventDefault();
      select();
    });
    byId("previous").addEventListener("click", () => turn(-1, false));
    byId("next").addEventListener("click", () => turn(1, false));
    byId("previous-below").addEventListener("click", () => turn(-1, true));
    byId("next-below").addEventListener("click", () => turn(1, true));
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) return;
      event.preventDefault();
      byId("search").focus();
    });
    drawList();
  }

  drawHeading();
  drawVerdicts();
  drawSuites();
  drawTroubles();
  drawDetails();
  drawSamples();
  byId("footer").append("Written by pytest-audiobench. Beside this page: run.json (the record) and ", data.files.join(", "), " (every sample).");
})();
