  // The samples. What they are filtered by is there at once; what a card shows is parsed when it is looked at.
  const CHANGES = ["", "worse", "better", "same", "worse"];
  const chunks = [...document.querySelectorAll("script.rows")].map((node) => ({ node, from: Number(node.dataset.from), rows: null }));
  const sounds = [...document.querySelectorAll("script.sound")];
  let shared = null;

  const kinds = data.samples.kinds.map(([numbers, status, right]) => ({ numbers, status, right }));
  const wordings = data.samples.wordings.map((own) => own.map((number) => data.failures[number]));

  class Sample {
    constructor([item, id, epoch, change, wording, group, read, ...orders], number) {
      Object.assign(this, { item, id, epoch, number, change: CHANGES[change], isLost: change === 4, wording: wordings[wording], group: data.samples.groups[group] });
      this.scorers = read.map((kind) => kinds[kind]);
      this.orders = new Map(orders);
      this.words = null;
      this.sounds = [];
      this.isMarked = false;
    }

    get eval() { return data.evals[this.item]; }

    get fields() {
      const chunk = chunks.findLast((one) => one.from <= this.number);
      if (chunk.rows === null) {
        if (shared === null) shared = JSON.parse(byId("shared").textContent);
        chunk.rows = JSON.parse(chunk.node.textContent);
      }
      return chunk.rows[this.number - chunk.from];
    }

    field(place) {
      const value = this.fields[place];
      return typeof value === "number" ? shared[value] : value;
    }

    get question() { return this.field(0); }
    get choices() { return this.field(1); }
    get references() { return this.field(2); }
    get reference() { return this.references.length ? this.references[0] : ""; }
    get prompt() { return this.field(4); }
    get stages() { return this.field(5)[0]; }
    get error() { return this.field(5)[1]; }
    get results() { return this.field(5)[2].map(([value, scores]) => ({ value, scores })); }
    get metadata() { return this.field(3).map((name, place) => [name, this.field(5)[3][place]]); }
    get audio() { return this.field(5)[4]; }
    get diff() { return this.field(5)[6]; }
    get scene() { return this.field(5)[8]; }

    get before() {
      const [before, , diff] = this.field(5).slice(5, 8);
      if (before === null) return null;
      const [status, text, scores, failures, right, label] = before;
      return { status, text, scores, failures, right, label, diff };
    }

    // The answers of the model itself, without what judges said of them.
    get answers() { return this.stages.filter(([, , , role]) => !role); }
  }

  const all = data.samples.rows.map((row, number) => new Sample(row, number));
  const evalsOnPage = new Set(all.map((sample) => sample.eval));
  for (const [row, clip, sound, seconds, whole, version] of data.samples.sounds) all[row].sounds.push({ clip, sound, seconds, whole, version });

  // The same sample in the same epoch of the same eval, by every model of the run.
  let relatives = null;
  function byAllModels(sample) {
    if (!data.several) return [sample];
    const key = (one) => JSON.stringify([one.eval.name, one.id, one.epoch]);
    if (relatives === null) {
      relatives = new Map();
      for (const one of all) relatives.set(key(one), [...(relatives.get(key(one)) || []), one]);
    }
    return [sample, ...relatives.get(key(sample)).filter((one) => one !== sample)];
  }

  // The headline scorer of a sample, unless another is chosen.
  let chosenScorer = "";
  function scorerOf(sample) {
    if (!chosenScorer) return sample.scorers[0] || null;
    const number = sample.eval.scorers.indexOf(chosenScorer);
    return sample.scorers.find((one) => one.numbers.includes(number)) || null;
  }

  // What the text shows, and what the scorer made of it.
  function failuresOf(sample, scorer) {
    const status = scorer && data.failures.includes(scorer.status) && !sample.wording.includes(scorer.status) ? [scorer.status] : [];
    return status.length ? data.failures.filter((name) => sample.wording.includes(name) || name === scorer.status) : sample.wording;
  }

  function words(sample) {
    if (sample.words === null) {
      const texts = [sample.id, sample.question, ...sample.choices, ...sample.references, ...sample.stages.map((stage) => stage[1]), sample.error,
        ...sample.results.map((one) => one.value), ...sample.audio.map((clip) => clip[0]), ...Object.values(sample.group), ...sample.metadata.map(([, value]) => value), ...sceneWords(sample.scene), sample.before && (sample.before.text ?? sample.before.label)];
      sample.words = texts.map((text) => String(plainText(text))).join("\n").toLowerCase();
    }
    return sample.words;
  }

