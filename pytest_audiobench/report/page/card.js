  // One sample's card: what was played and asked, what was answered, by this run, its baseline and the run's other models.
  const CHANGE_TAGS = { worse: ["bad", "▼ worse"], better: ["good", "▲ better"], same: ["plain", "= same"] };
  const statusText = (status) => visible(status.replaceAll("_", " "));

  function outcomeTag(status, right, isScored, isShort = false) {
    if (status === "error") return tag("bad", "! asking failed");
    if (status !== "parsed") {
      return tag("warn", `? ${statusText(status)}${isShort ? "" : !isScored ? ", skipped by the scorer" : right === false ? ", counts as wrong" : ""}`);
    }
    if (!isScored) return tag("plain", "skipped by the scorer");
    if (right === null) return tag("plain", "parsed");
    return right ? tag("good", "✓ right") : tag("bad", "✗ wrong");
  }

  function outcome(sample, isShort = false) {
    const scorer = scorerOf(sample);
    if (!scorer) return sample.error === null ? tag("plain", "not parsed") : tag("bad", "! asking failed");
    if (sample.eval.isControl && scorer.status !== "error") return [tag("plain", "control"), isShort ? null : el("span", { class: "small soft" }, " should come out badly: counted neither as right nor as wrong")];
    return outcomeTag(scorer.status, scorer.right, sample.results[sample.scorers.indexOf(scorer)].scores !== null, isShort);
  }

  const changeTag = (sample) => (CHANGE_TAGS[sample.change] ? tag(...CHANGE_TAGS[sample.change]) : null);
  const failureTags = (names, status) => names.filter((name) => name !== status).map((name) => tag("warn", visible(name)));

  const letterOf = (number) => (number < 26 ? String.fromCharCode(65 + number) : String(number + 1));
  // A label that is asked for by its text was shown to the model without a letter, and may look like one.
  const readsLetters = (sample, scorer) => scorer.numbers.some((number) => sample.eval.letters.includes(sample.eval.scorers[number]));
  const lettered = (sample, number, text) => (sample.eval.letters.length ? `${letterOf(number)} ${text}` : text);

  // The place of the option that the scorer read, by its letter or its own text; -1 where it read none.
  function chosenPlace(sample) {
    const scorer = scorerOf(sample);
    if (!scorer || scorer.status !== "parsed") return -1;
    const value = plainText(sample.results[sample.scorers.indexOf(scorer)].value);
    const hasLetters = readsLetters(sample, scorer);
    return sample.choices.findIndex((choice, place) => (hasLetters && value === letterOf(place)) || value === plainText(choice));
  }

  // The option that was chosen, its letter first if it has one; empty where the answer says the option's text itself, or chose none.
  function chosenOption(sample, said) {
    const number = chosenPlace(sample);
    if (number < 0) return "";
    const text = plainText(sample.choices[number]);
    return plainText(said).toLowerCase().includes(text.toLowerCase()) ? "" : lettered(sample, number, text);
  }

  function choiceList(sample) {
    const chosen = chosenPlace(sample);
    const references = sample.references.map(plainText);
    return el("ol", { class: "choices" }, sample.choices.map((choice, number) => {
      const text = plainText(choice);
      const isReference = references.includes(text);
      const isAnswer = number === chosen;
      return el("li", { class: isReference ? "true" : null }, sample.eval.letters.length ? [el("span", { class: "letter" }, letterOf(number)), " "] : null, longText(choice, "inline"),
        isReference ? [" ", el("span", { class: "note good" }, "✓ reference")] : null,
        isAnswer ? [" ", el("span", { class: `note ${isReference ? "good" : "bad"}` }, isReference ? "and chosen" : "✗ chosen")] : null);
    }));
  }

  const seconds = (value) => `${value.toFixed(1)} s`;

  function clipLine([source, duration, truncated, isHere], number, sample, isPrinted) {
    const [sound, before] = [false, true].map((isClean) => sample.sounds.find((one) => one.clip === number && one.version !== "answer" && (one.version === "clean") === isClean));
    return el("div", { class: "clip" }, el("div", { class: "mono soft" }, sample.audio.length > 1 ? `clip ${number + 1} · ` : "", longText(source, "inline"),
      typeof duration === "number" ? ` · ${seconds(duration)}` : "",
      truncated ? el("span", { class: "warn" }, ` · ! ${seconds(truncated)} cut off at the end before it was played`) : null,
      isHere || sound ? null : " · not on the machine of this run"),
    sound && !isPrinted ? player(sound) : null,
    before && !isPrinted ? [el("div", { class: "small soft" }, "without the perturbation"), player(before)] : null);
  }

  function scorerLine({ value, scores }, kind, names) {
    const many = names.length > 3;
    return el("div", {}, el("strong", { title: many ? visible(names.join(", ")) : null }, visible(many ? `${names[0]} and ${names.length - 1} more` : names.join(", "))),
      ` ${statusText(kind.status)}`, value === null ? null : [": ", longText(value, "inline")],
      scores === null ? (kind.status === "error" ? null : el("span", { class: "soft" }, " (skipped)")) : scores ? [" ", el("span", { class: "soft nowrap" }, visible(scores))] : null);
  }

  // Words that are missing are struck through, inserted ones underlined: the colours only repeat it.
  function diffBox(diff) {
    if (diff === null) return null;
    const [by, joint, runs] = diff;
    const body = el("p", { class: "diff", dir: "auto" });
    const counts = { S: 0, D: 0, I: 0 };
    const length = (text) => (joint ? text.split(joint).length : [...text].length);
    for (let place = 0; place < runs.length; place += 3) {
      const [sign, wanted, said] = runs.slice(place, place + 3);
      if (sign in counts) counts[sign] += length(sign === "I" ? said : wanted);
      body.append(sign === "=" ? visible(said)
        : el("span", { class: sign === "S" ? "swap" : null }, sign === "I" ? null : el("del", {}, visible(wanted)), sign === "D" ? null : el("ins", {}, visible(said))), joint);
    }
    const unit = joint ? "words" : "characters";
    const whose = by ? `${unit} as ${visible(by)} compares them` : "plain words, not those that the scorer compared";
    if (runs.length === 0 || (runs.length === 3 && runs[0] === "=")) return el("div", { class: "differs small soft" }, `as the reference: ${whose}`);
    return el("div", { class: "differs" }, body, el("div", { class: "small soft" }, `${counts.S} replaced, ${counts.D} missing, ${counts.I} inserted (expected: struck through, said: underlined); ${whose}`));
  }

  const side = (title, tags, ...children) => el("div", { class: "side" }, el("h4", {}, title, " ", tags), children);

  function ownSide(sample, title, isPrinted) {
    const answers = sample.answers;
    const stages = new Set(answers.map(([stage]) => stage));
    const said = answers.map(([stage, text, finish]) => [
      stages.size > 1 || finish !== "stop" ? el("div", { class: "small soft" }, stages.size > 1 ? visible(stage) : "",
        finish === "stop" || finish === "unknown" ? "" : ` (finish: ${visible(finish)})`) : null,
      answerText(text, "answer")]);
    const scorer = scorerOf(sample);
    return side(title, [outcome(sample), failureTags(failuresOf(sample, scorer), scorer && scorer.status)], said,
      isPrinted ? null : sample.sounds.filter((one) => one.version === "answer").map(player),
      sample.error === null ? null : longText(sample.error, "bad"), diffBox(sample.diff),
      sample.scorers.length ? el("div", { class: "small read" }, sample.results.map((result, place) =>
        scorerLine(result, sample.scorers[place], sample.scorers[place].numbers.map((number) => sample.eval.scorers[number])))) : null);
  }

  function beforeSide(before) {
    return side("The baseline", [outcomeTag(before.status, before.right, before.scores !== null), failureTags(before.failures, before.status)],
      before.text !== null ? answerText(before.text, "answer") : before.status === "error" ? null
        : [before.label ? answerText(before.label, "answer") : null, el("p", { class: "small soft" }, before.label ? "The parsed label: the baseline stores no texts." : "The baseline stores no texts.")],
      diffBox(before.diff), before.scores ? el("div", { class: "small soft" }, visible(before.scores)) : null);
  }

  function promptBox(stages) {
    return el("details", { class: "prompt" }, el("summary", {}, "The prompt as it was sent"), stages.map(([stage, judge, messages]) => [
      stages.length > 1 || judge ? el("h4", {}, visible(judge ? `${judge}, ${stage}` : stage)) : null,
      messages.map(([role, parts]) => el("div", { class: "message" }, el("div", { class: "small soft" }, visible(role)),
        parts.map((part) => (typeof part === "number" ? tag("plain", `♪ clip ${part + 1}`) : part))))]));
  }

  // Templates stand for themselves; a number in one is the sample's question (0) or its n-th choice, the last may be what was cut.
  function filledPrompt(sample) {
    const text = (piece) => (typeof piece === "string" ? piece : plainText(piece === 0 ? sample.question : sample.choices[piece - 1]));
    const part = (pieces) => {
      if (typeof pieces === "number") return pieces;
      const missing = typeof pieces.at(-1) === "number" && pieces.at(-1) < 0 ? -pieces.at(-1) : 0;
      const whole = (missing ? pieces.slice(0, -1) : pieces).map(text).join("");
      return longText(missing ? [whole, missing] : whole, "", 4000);
    };
    return sample.prompt.map(([stage, judge, messages]) => [stage, judge, messages.map(([role, parts]) => [role, parts.map(part)])]);
  }

  function card(sample, isPrinted = false) {
    let list = el("dl");
    const add = (name, ...nodes) => list.append(el("dt", {}, name), el("dd", {}, nodes));
    if (sample.audio.length) add("Audio", sample.audio.map((clip, number) => clipLine(clip, number, sample, isPrinted)));
    if (plainText(sample.question)) add("Question", longText(sample.question, ""));
    if (sample.choices.length) add("Choices", choiceList(sample));
    const choices = sample.choices.map(plainText);
    const references = sample.references.filter((text) => !choices.includes(plainText(text)));
    if (references.length) add(references.length > 1 ? "References" : "Reference", references.map((text) => longText(text, "")));
    const several = byAllModels(sample);
    const scenes = several.filter((one) => one.scene).map((one) => sceneBox(one, list.querySelector("audio"), several.length > 1 ? visible(one.eval.model) : null));
    const top = list;
    if (scenes.length) list = el("dl");
    const before = sample.before;
    const sides = [ownSide(sample, before ? "This run" : several.length > 1 ? visible(sample.eval.model) : "", isPrinted), before ? beforeSide(before) : null,
      several.slice(1).map((one) => ownSide(one, visible(one.eval.model), isPrinted))];
    add("Answers", el("div", { class: "answers" }, sides));
    for (const [stage, text, , role] of sample.stages.filter((one) => one[3])) add(`${visible(role)}, ${visible(stage)}`, answerText(text, "answer"));
    const group = Object.entries(sample.group).map(([name, value]) => `${name}=${value}`).join(" · ");
    const metadata = sample.metadata;
    return el("article", { class: "sample", tabindex: "-1", "aria-label": `Sample ${visible(sample.id)}` },
      el("header", {}, isPrinted ? null : markButton(sample), changeTag(sample), outcome(sample), failureTags(failuresOf(sample, scorerOf(sample)), (scorerOf(sample) || {}).status),
        el("h3", { class: "id mono" }, visible(sample.id)), el("span", { class: "small" }, visible(named(sample.eval.name, sample.eval.model))),
        data.epochs > 1 ? el("span", { class: "small soft" }, `epoch ${sample.epoch + 1}`) : null, el("span", { class: "small soft" }, visible(group))),
      scenes.length ? [top, scenes] : null, list, sample.prompt.length ? promptBox(filledPrompt(sample)) : null,
      metadata.length ? el("details", {}, el("summary", {}, "Metadata"), facts(metadata.map(([name, value]) => [longText(name, "inline"), longText(value, "inline")]))) : null);
  }

