  // Samples that a reader marks, and the selection (what is filtered, or what is marked) as files that can be asked again.
  const MARKS = `audiobench-marks ${data.run} ${data.hashes.run_hash || ""}`;
  const sampleKey = (sample) => JSON.stringify([sample.eval.name, sample.eval.model, sample.id, sample.epoch]);
  // A file below a data set's folder, and neither a mixture nor a computed sound.
  const FILE_SOURCE = /^([^():+]+):([^():+]+\.\w{2,5})$/;

  function readMarks() {
    let names = [];
    try {
      names = JSON.parse(localStorage.getItem(MARKS) || "[]");
    } catch {
      // Where a browser lets files store nothing, marks last as long as the page.
    }
    const marked = new Set(Array.isArray(names) ? names : []);
    if (marked.size) for (const sample of all) sample.isMarked = marked.has(sampleKey(sample));
  }

  function keepMarks() {
    try {
      localStorage.setItem(MARKS, JSON.stringify(all.filter((sample) => sample.isMarked).map(sampleKey)));
    } catch {
      // As above.
    }
  }

  function markButton(sample) {
    const button = el("button", { type: "button", class: "mark expand" });
    const draw = () => {
      button.textContent = sample.isMarked ? "★ Marked" : "☆ Mark";
      button.setAttribute("aria-pressed", String(sample.isMarked));
    };
    button.addEventListener("click", () => {
      sample.isMarked = !sample.isMarked;
      draw();
      keepMarks();
      narrowCounts();
    });
    draw();
    return button;
  }

  // A mark changes the counts and the stars, and not which sample is open.
  function narrowCounts() {
    narrow();
    showFilters();
    showSelection();
    place = matching.indexOf(open);
    byId("rows").style.height = `${matching.length * ROW_PX}px`;
    drawRows();
  }

  const selected = () => (byId("selection").value === "marked" ? all.filter((sample) => sample.isMarked) : matching);

  // A row of a manifest with its data set; undefined where the sample's sound is no file that can be named.
  function manifestRow(sample) {
    const files = sample.audio.map(([source]) => plainText(source).match(FILE_SOURCE));
    if (!files.length || !files.every((found) => found && found[1] === files[0][1])) return undefined;
    const paths = files.map(([, , path]) => path);
    const references = sample.references.map(plainText);
    const metadata = { ...Object.fromEntries(sample.metadata.map(([name, value]) => [plainText(name), plainText(value)])), ...sample.group, eval: sample.eval.name };
    const question = plainText(sample.question);
    return [files[0][1], { id: sample.id, audio: paths.length === 1 ? paths[0] : paths, ...(question ? { question } : {}), ...(sample.choices.length ? { choices: sample.choices.map(plainText) } : {}),
      answer: references[0] || "", ...(references.length > 1 ? { references: references.slice(1) } : {}), metadata }];
  }

  // A manifest for each protocol and data set: a sample that several models or epochs have is in it once, and another of
  // its name has the eval's name too.
  function manifests(samples) {
    const found = new Map();
    let left = 0;
    for (const sample of samples) {
      const [set, row] = manifestRow(sample) || [];
      if (!row) { left += 1; continue; }
      const { protocol } = sample.eval;
      const key = fileName(`again ${protocol} ${set}`);
      if (!found.has(key)) found.set(key, { key, protocol, set, rows: new Map() });
      const { rows } = found.get(key);
      const before = rows.get(row.id);
      if (before && before.metadata.eval !== row.metadata.eval) row.id = `${row.id} ${row.metadata.eval}`;
      rows.set(row.id, row);
    }
    return { found: [...found.values()].map((one) => ({ ...one, rows: [...one.rows.values()] })), left };
  }

  const tomlText = (text) => JSON.stringify(visible(text));
  const manifestName = ({ key }) => `${key}.jsonl`;
  // Where the run was told that a data set lies.
  const folderOf = (set) => data.command.map((word) => word.match(/^--ab-data=([^=]+)=(.+)$/)).filter((found) => found && found[1] === set).map((found) => found[2])[0];

  function declarationText(found) {
    return found.map((one) => [`[[task]]`, `name = ${tomlText(one.key.replaceAll("-", "_"))}`, `protocol = ${tomlText(one.protocol)}`, `manifest = ${tomlText(manifestName(one))}`, `audio = "audio"`, `answer = "answer"`,
      one.rows.some((row) => row.choices) ? `choices = "choices"` : "", one.rows.some((row) => row.references) ? `references = "references"` : "",
      `root = ${tomlText(folderOf(one.set) || "FOLDER")}  # where ${visible(one.set)} lies`].filter(Boolean).join("\n")).join("\n\n");
  }

  const AGAIN = "again.audiobench.toml";
  function commandText() {
    const models = data.models.filter((model) => model.role === "subject").map((model) => `--ab-model=${shellWord(visible(model.alias === model.spec ? model.spec : `${model.alias}=${model.spec}`))}`);
    return ["pytest", AGAIN, ...models].join(" ");
  }

  function tableRow(sample) {
    const scorer = scorerOf(sample);
    const result = scorer ? sample.results[sample.scorers.indexOf(scorer)] : null;
    const before = sample.before;
    const [, metric = "", score = "", unit = ""] = /^(\S+) (\S+) ?(.*)$/.exec((result && result.scores) || "") || [];
    const metadata = Object.fromEntries(sample.metadata.map(([name, value]) => [`metadata.${plainText(name)}`, plainText(value)]));
    const groups = Object.fromEntries(Object.entries(sample.group).map(([name, value]) => [`group.${name}`, value]));
    return { eval: sample.eval.name, model: sample.eval.model, id: sample.id, epoch: sample.epoch + 1, status: scorer ? scorer.status : sample.error === null ? "" : "error", right: scorer && scorer.right !== null ? String(scorer.right) : "",
      answer: sample.answers.map((one) => plainText(one[1])).slice(-1)[0] || "", parsed: result ? plainText(result.value) : "", metric, score: plainNumber(score), unit, reference: sample.references.map(plainText).join(" | "),
      ...(hasBaseline ? { change: sample.change, baseline: before ? plainText(before.text ?? before.label) : "" } : {}), failures: failuresOf(sample, scorer).join(", "),
      question: plainText(sample.question), choices: sample.choices.map(plainText).join(" | "), audio: sample.audio.map((clip) => plainText(clip[0])).join("; "), marked: sample.isMarked ? "yes" : "", ...groups, ...metadata };
  }

  function selectionBox() {
    const pick = el("select", { id: "selection" }, el("option", { value: "filtered" }, "filtered"), el("option", { value: "marked" }, "marked"));
    const box = el("details", { id: "export" }, el("summary", {}, "Export the selection, or ask just these samples again"));
    box.append(el("div", { class: "line" }, labelled("Samples", pick), el("span", { id: "csv" }), el("span", { id: "manifests", class: "line" })), el("div", { id: "again" }));
    pick.addEventListener("change", showSelection);
    box.addEventListener("toggle", showSelection);
    return box;
  }

  function showSelection() {
    if (!byId("export").open) return;
    const samples = selected();
    const { found, left } = manifests(samples);
    byId("csv").replaceChildren(saveButton(`CSV of ${samples.length === 1 ? "this sample" : `these ${count(samples.length)} samples`}`, () => saveAs("samples.csv", CSV_TYPE, csvText(selected().map(tableRow)))));
    byId("manifests").replaceChildren(...found.map((one) => saveButton(`${manifestName(one)} (${count(one.rows.length)})`, () => saveAs(manifestName(one), "application/x-ndjson", one.rows.map((row) => `${JSON.stringify(row)}\n`).join("")))),
      ...(found.length ? [saveButton(AGAIN, () => saveAs(AGAIN, "application/toml", `${declarationText(found)}\n`))] : []));
    byId("again").replaceChildren(...[el("p", { class: "small soft" }, left ? `The sound of ${count(left)} is no single file (a mixture, a computed sound, a perturbed clip), so they are in no manifest: ask their evals by name.` : ""),
      found.length ? el("p", { class: "small" }, "Save these files in one folder, say in ", el("code", {}, AGAIN), " where the audio lies, and run there:") : null,
      found.length ? el("pre", {}, el("code", {}, `${visible(declarationText(found))}\n\n$ ${commandText()}`)) : null].filter(Boolean));
  }

