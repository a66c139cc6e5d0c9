  // Samples.
  const all = data.samples.flatMap((item) => item.rows.map((row) => {
    const [id, epoch, question, choices, reference, stages, error, read, wording, group, audio] = row;
    const readings = read.map(([numbers, status, value, scores, right]) =>
      ({ names: numbers.map((number) => data.evals[item.item].readings[number]), status, value, scores, right }));
    return { item: item.item, id, epoch, question, choices, reference, stages, error, readings, wording, group, audio, words: null };
  }));
  let matching = all;
  let page = 0;

  // The headline's, unless another is chosen.
  function readingOf(sample) {
    const wanted = byId("reading").value;
    return (wanted ? sample.readings.find((one) => one.names.includes(wanted)) : sample.readings[0]) || null;
  }

  // What the text shows, and what the reading made of it.
  function failuresOf(sample, reading) {
    return data.failures.filter((name) => sample.wording.includes(name) || (reading && reading.status === name));
  }

  function words(sample) {
    if (sample.words === null) {
      const texts = [sample.id, sample.question, ...sample.choices, sample.reference, ...sample.stages.map((stage) => stage[1]), sample.error,
        ...sample.readings.map((one) => one.value), ...sample.audio.map((clip) => clip[0]), ...Object.values(sample.group)];
      sample.words = texts.map((text) => String(plainText(text === undefined ? null : text))).join("\n").toLowerCase();
    }
    return sample.words;
  }

  const ANY = "any";

  function showFailures(item, failure) {
    byId("filter").reset();
    byId("which").value = item;
    byId("failure").value = failure;
    select();
    byId("samples").scrollIntoView();
  }

  function select() {
    const text = byId("search").value.trim().toLowerCase();
    const which = byId("which").value;
    const failure = byId("failure").value;
    const wrong = byId("wrong").checked;
    const unparsed = byId("unparsed").checked;
    matching = all.filter((sample) => {
      if (which !== "" && sample.item !== Number(which)) return false;
      const reading = readingOf(sample);
      const failures = failure ? failuresOf(sample, reading) : [];
      if (failure && !(failure === ANY ? failures.length : failures.includes(failure))) return false;
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
    if (reading.status !== "parsed") {
      const counts = reading.scores === null ? ", skipped by the protocol" : reading.right === false ? ", counts as wrong" : "";
      return tag("warn", `? ${reading.status.replaceAll("_", " ")}${counts}`);
    }
    if (reading.scores === null) return tag("plain", "skipped by the protocol");
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

  function readingLine({ names, status, value, scores }) {
    const many = names.length > 3;
    return el("div", {}, el("strong", { title: many ? visible(names.join(", ")) : null }, visible(many ? `${names[0]} and ${names.length - 1} more` : names.join(", "))),
      ` ${status.replaceAll("_", " ")}`, value === null ? null : [": ", longText(value, "inline")],
      scores === null ? (status === "error" ? null : el("span", { class: "soft" }, " (skipped)")) : scores ? el("span", { class: "mono soft" }, ` ${visible(scores)}`) : null);
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
    for (const [stage, text, finish, role] of sample.stages) {
      const several = new Set(sample.stages.filter((other) => !other[3]).map((other) => other[0])).size > 1;
      const note = finish === "stop" || finish === "unknown" ? "" : ` (finish: ${visible(finish)})`;
      add((role ? `${visible(role)}, ${visible(stage)}` : several ? `Answer, ${visible(stage)}` : "Answer") + note,
        answerText(text, "answer"));
    }
    if (sample.error !== null) add("Error", longText(sample.error, "bad"));
    if (sample.readings.length) add("Read as", sample.readings.map(readingLine));
    if (sample.audio.length) add("Audio", sample.audio.map(clip));
    const group = Object.entries(sample.group).map(([name, value]) => `${name}=${value}`).join(" · ");
    return el("article", { class: "sample" },
      el("header", {}, outcome(sample, reading), failuresOf(sample, reading).filter((name) => !reading || name !== reading.status).map((name) => tag("warn", name)), el("span", { class: "id mono" }, visible(sample.id)),
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
    const readings = [...new Set(data.evals.flatMap((one) => one.readings))];
    byId("reading").append(el("option", { value: "" }, "the headline"), ...readings.map((name) => el("option", { value: name }, visible(name))));
    byId("reading").parentElement.hidden = readings.length < 2;
    const failures = data.failures.filter((name) => all.some((sample) => sample.readings.some((reading) => failuresOf(sample, reading).includes(name))));
    byId("failure").append(el("option", { value: "" }, "all answers"), el("option", { value: ANY }, "in any way"), ...failures.map((name) => el("option", { value: name }, name)));
    byId("failure").parentElement.hidden = !failures.length;
    byId("which").append(el("option", { value: "" }, "all"), ...data.samples.map((item) => {
      const one = data.evals[item.item];
      return el("option", { value: item.item }, visible(named(one.name, one.model)));
    }));
    byId("which").parentElement.hidden = data.samples.length < 2;
    const total = data.samples.reduce((sum, item) => sum + item.total, 0);
    const first = data.samples.reduce((sum, item) => sum + item.first, 0);
    if (all.length < total) {
      const examples = all.length > first ? ` and ${count(all.length - first)} more that went wrong` : "";
      byId("cut").append(el("p", { class: "banner plain", role: "note" },
        `This page holds the first ${count(first)} of ${count(total)} samples${examples}, to stay small; ${data.files.join(", ")} beside it hold all.`));
    }
    let waiting = 0;
    byId("search").addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(select, 120);
    });
    for (const id of ["which", "reading", "failure", "wrong", "unparsed"]) byId(id).addEventListener("change", select);
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
