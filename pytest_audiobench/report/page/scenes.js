  // A scene: the events of the answer key above those of the answer, on one axis; what was matched is joined.
  const EVENT_TYPES = ["speech", "vocal burst", "sound", "music"];
  const ROW_HEIGHT = 21;
  const BAR_HEIGHT = 17;
  const LANE_GAP = 5;
  const BAND_HEIGHT = 19;
  const AXIS_HEIGHT = 20;
  const LEAST_WRITTEN = 0.04;
  const MOST_LAYERS = 6;
  const MOST_VOICES = 8;
  const SHADES = 5;
  let hatches = 0;

  const clock = (value) => value.toFixed(1);
  const span = ({ start, end }) => `${clock(start)}–${clock(end)} s`;
  const quoted = (text) => (text ? `“${text}”` : "");
  const plainWords = (name) => name.replaceAll("_", " ");
  const ratio = (value) => (value === null ? "–" : value.toFixed(2));
  const shade = (content) => `shade-${Math.min(SHADES - 1, Math.floor(Math.max(0, content) * SHADES))}`;
  const sceneWords = (scene) => (scene ? [...scene.truths, ...scene.guesses].flatMap((event) => [event[3], event[4]]) : []);

  // Events as objects that know their partner: `pair` is null for what was missed or invented.
  function sceneOf({ seconds: length, truths, guesses, more, pairs, counts }) {
    const read = (isTrue) => ([kind, start, end, text, caption, speaker, language, loudness]) =>
      ({ isTrue, kind, type: EVENT_TYPES[kind], start, end, words: text, caption, speaker, language, loudness, pair: null });
    const scene = { length, more, counts, truths: truths.map(read(true)), guesses: guesses.map(read(false)) };
    scene.pairs = pairs.map(([truth, guess, iou, accuracy, cosine, speakerRight, content, score, diff]) => {
      const pair = { truth: scene.truths[truth], guess: scene.guesses[guess], iou, accuracy, cosine, speakerRight, content, score, diff };
      pair.truth.pair = pair.guess.pair = pair;
      return pair;
    });
    return scene;
  }

  // A lane for each speaker, then one for each other type; events of one lane that overlap lie below each other.
  function lanesOf(events) {
    const voices = [...new Set(events.filter((event) => event.kind === 0).map((event) => event.speaker))];
    const name = (event) => (event.kind > 0 ? event.type : voices.indexOf(event.speaker) < MOST_VOICES ? event.speaker || "speech" : "other voices");
    const place = (event) => (event.kind > 0 ? MOST_VOICES + event.kind : Math.min(MOST_VOICES, voices.indexOf(event.speaker)));
    const lanes = new Map();
    for (const event of [...events].sort((one, other) => place(one) - place(other))) {
      if (!lanes.has(place(event))) lanes.set(place(event), { name: name(event), kind: event.kind, rows: [] });
      const { rows } = lanes.get(place(event));
      let row = rows.find((one) => one.until <= event.start);
      if (!row && rows.length < MOST_LAYERS) rows.push(row = { until: 0, events: [] });
      row = row || rows.at(-1);
      row.until = Math.max(row.until, event.end);
      row.events.push(event);
    }
    return [...lanes.values()];
  }

  function about(event) {
    const who = [event.type, event.speaker && `by ${event.speaker}`, event.language && `in ${event.language}`].filter(Boolean).join(" ");
    return [`${who}, ${span(event)}`, quoted(event.words), event.caption, plainWords(event.loudness)].filter(Boolean).join(" · ");
  }

  function fate({ isTrue, pair }) {
    if (!pair) return isTrue ? "missed" : "invented";
    return `matched: IoU ${ratio(pair.iou)}, ${pair.accuracy === null ? "" : `accuracy ${ratio(pair.accuracy)}, `}cosine ${ratio(pair.cosine)}${pair.speakerRight === false ? ", wrong speaker" : ""}, score ${ratio(pair.score)}`;
  }

  function bar(event, top, length, hatch) {
    const at = (value) => `${Math.min(100, value / length * 100).toFixed(3)}%`;
    const size = { x: at(event.start), y: top, width: at(Math.max(Math.min(event.end, length) - event.start, length * 0.006)), height: BAR_HEIGHT };
    const state = event.pair ? shade(event.pair.content) : event.isTrue ? "missed" : "invented";
    event.middle = [at((Math.min(event.start, length) + Math.min(event.end, length)) / 2), event.isTrue ? top + BAR_HEIGHT : top];
    event.node = svg("g", { class: `event ${state}`, role: "button", tabindex: -1, "aria-label": visible(`${event.isTrue ? "Answer key" : "Answer"}: ${about(event)}; ${fate(event)}`) },
      svg("title", {}, `${about(event)}\n${fate(event)}`),
      svg("rect", { ...size, rx: 3, fill: state === "invented" ? `url(#${hatch})` : null }),
      event.end - event.start < length * LEAST_WRITTEN ? null : svg("svg", size, svg("text", { x: 5, y: BAR_HEIGHT - 5 }, (event.words || event.caption || event.type).slice(0, 160))));
    return event.node;
  }

  // Widths are shares of the whole, so that the picture follows the page's width without being drawn anew.
  function timeline(scene, play, read) {
    const hatch = `hatch-${hatches += 1}`;
    const names = [];
    const backs = [];
    const bars = [];
    let top = 0;
    for (const [title, events] of [["Answer key", scene.truths], ["Answer", scene.guesses]]) {
      names.push(svg("text", { class: "band", x: 0, y: top + 13 }, title));
      backs.push(svg("line", { class: "edge", x1: 0, x2: "100%", y1: top + BAND_HEIGHT - 3, y2: top + BAND_HEIGHT - 3 }));
      top += BAND_HEIGHT;
      if (!events.length) {
        backs.push(svg("text", { class: "soft", x: 4, y: top + 13 }, "no events"));
        top += ROW_HEIGHT;
      }
      for (const lane of lanesOf(events)) {
        names.push(svg("g", {}, svg("title", {}, lane.kind === 0 ? `speech by ${lane.name}` : lane.name),
          svg("text", { x: 0, y: top + 13 }, lane.name.length > 13 ? `${lane.name.slice(0, 12)}…` : lane.name)));
        backs.push(svg("rect", { class: "lane", x: 0, y: top - 2, width: "100%", height: lane.rows.length * ROW_HEIGHT }));
        for (const row of lane.rows) {
          for (const event of row.events) bars.push(bar(event, top, scene.length, hatch));
          top += ROW_HEIGHT;
        }
        top += LANE_GAP;
      }
      top += LANE_GAP;
    }
    const step = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600].find((value) => scene.length / value <= 6) || Math.ceil(scene.length / 6);
    const axis = Array.from({ length: Math.floor(scene.length / step) + 1 }, (_, number) => number * step).map((value) => {
      const x = `${value / scene.length * 100}%`;
      const end = value / scene.length > 0.94;
      return [svg("line", { class: "tick", x1: x, x2: x, y1: BAND_HEIGHT - 3, y2: top }),
        svg("text", { class: "time", x, y: top + 14, "text-anchor": value === 0 ? "start" : end ? "end" : "middle" }, `${value} s`)];
    });
    const joins = scene.pairs.map((pair) => {
      const [[x1, y1], [x2, y2]] = [pair.truth.middle, pair.guess.middle];
      pair.join = svg("line", { class: `join ${shade(pair.content)}`, x1, y1, x2, y2 });
      return pair.join;
    });
    const height = top + AXIS_HEIGHT;
    const picture = svg("svg", { class: "events", width: "100%", height, role: "group", "aria-label": `Timeline of ${seconds(scene.length)}: ${count(scene.truths.length)} events of the answer key above ${count(scene.guesses.length)} of the answer; the arrow keys go from one to the next` },
      svg("defs", {}, svg("pattern", { id: hatch, class: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, svg("rect", { class: "ground", width: 6, height: 6 }), svg("rect", { class: "stripe", width: 2, height: 6 }))),
      backs, axis.flat().filter((node) => node.tagName === "line"), joins, bars, axis.flat().filter((node) => node.tagName === "text"));
    const head = el("div", { class: "head", hidden: true });
    const plot = el("div", { class: "plot" }, picture, head);
    useKeys(scene, picture, play, read);
    plot.addEventListener("click", (event) => {
      const own = [...scene.truths, ...scene.guesses].find((one) => one.node.contains(event.target));
      const { left, width } = plot.getBoundingClientRect();
      if (own) read(own);
      play(own ? own.start : Math.max(0, (event.clientX - left) / width * scene.length));
    });
    return { box: el("div", { class: "timeline" }, svg("svg", { class: "names", height, "aria-hidden": "true" }, names), plot), head };
  }

  // One stop of the keyboard: left and right go along the events, up and down to the partner, Enter plays.
  function useKeys(scene, picture, play, read) {
    const events = [...scene.truths, ...scene.guesses];
    if (!events.length) return;
    events[0].node.setAttribute("tabindex", "0");
    const go = (to) => {
      for (const event of events) event.node.setAttribute("tabindex", event === to ? "0" : "-1");
      to.node.focus();
    };
    for (const event of events) event.node.addEventListener("focus", () => read(event));
    picture.addEventListener("keydown", (pressed) => {
      const at = events.findIndex((event) => event.node === document.activeElement);
      if (at < 0 || pressed.ctrlKey || pressed.metaKey || pressed.altKey) return;
      const own = events[at];
      const across = () => {
        const others = own.isTrue ? scene.guesses : scene.truths;
        const far = (event) => Math.abs(event.start - own.start);
        return own.pair ? (own.isTrue ? own.pair.guess : own.pair.truth) : others.reduce((best, event) => (best && far(best) <= far(event) ? best : event), null);
      };
      const step = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[pressed.key];
      if (step !== undefined) go(events[Math.min(events.length - 1, Math.max(0, at + step))]);
      else if (pressed.key === "ArrowDown" || pressed.key === "ArrowUp") go((own.isTrue === (pressed.key === "ArrowDown") && across()) || own);
      else if (pressed.key === "Enter" || pressed.key === " ") play(own.start);
      else return;
      pressed.preventDefault();
      pressed.stopPropagation();
    });
  }

  function timeButton(event, play) {
    const button = el("button", { type: "button", class: "at", "aria-label": `Play from ${clock(event.start)} s` }, span(event));
    button.addEventListener("click", () => play(event.start));
    return button;
  }

  const said = (event, words) => longText([words ? quoted(event.words) : "", event.caption].filter(Boolean).join(" · "), "inline", 160);
  const further = (texts) => el("span", { class: "soft" }, texts.filter(Boolean).map((text) => ` · ${text}`).join(""));

  // Two rows: the numbers, and below them over the whole width what both sides say.
  function pairRows(pair, play) {
    const { truth, guess } = pair;
    const both = (one, other) => (one === other ? one : [one, other].map((text) => text || "no label").join(" → "));
    const line = (title, event) => [el("dt", {}, title), el("dd", {}, timeButton(event, play), " ", said(event, truth.kind === 0 && !pair.diff), further([plainWords(event.loudness)]))];
    return [
      el("tr", { class: "joined" },
        el("th", { scope: "row" }, el("span", { class: `swatch ${shade(pair.content)}` }), truth.type, further([both(truth.speaker, guess.speaker), both(truth.language, guess.language)])),
        [pair.iou, pair.accuracy, pair.cosine].map((value) => el("td", { class: "number" }, ratio(value))),
        el("td", { class: pair.speakerRight === false ? "number bad" : "number" }, pair.speakerRight === null ? "–" : pair.speakerRight ? "✓ right" : "✗ wrong"),
        el("td", { class: "number value" }, ratio(pair.score))),
      el("tr", { class: "details" }, el("td", { colspan: 6 }, pair.diff ? diffBox(pair.diff) : null, el("dl", { class: "both" }, line("key", truth), line("answer", guess)))),
    ];
  }

  function eventList(title, events, whole, play) {
    if (!events.length) return null;
    return el("div", { class: "alone" }, el("h4", {}, `${title}: ${count(events.length)} of ${count(whole)}`),
      el("ul", {}, events.map((event) => el("li", {}, timeButton(event, play), " ", el("strong", {}, event.type), " ", said(event, true),
        further([event.speaker, event.language, plainWords(event.loudness)])))));
  }

  // What the list says of a scene.
  function sceneSnippet(sample) {
    const { truths, guesses, pairs, more } = sample.scene;
    const scorer = scorerOf(sample);
    const score = scorer && sample.results[sample.scorers.indexOf(scorer)].scores;
    const of = (kind, number, whole) => `${count(number - pairs.length)} of ${count(number + whole)} ${kind}`;
    return [score, of("missed", truths.length, more[0]), of("invented", guesses.length, more[1])].filter(Boolean).join(" · ");
  }

  function legend() {
    const sign = (name, text) => el("li", {}, el("span", { class: `swatch ${name}` }), text);
    return el("ul", { class: "legend scene-legend" },
      el("li", {}, Array.from({ length: SHADES }, (_, number) => el("span", { class: `swatch shade-${number}` })), "matched: the stronger, the better words and captions agree"),
      sign("invented", "invented"), sign("missed", "missed"));
  }

  function countsLine({ counts, more }) {
    const listed = (entries) => entries.map(([name, number]) => `${plainWords(name)} ${count(number)}`).join(", ") || "none";
    const [repairs, invalid] = counts;
    return [`Repairs in reading the answer: ${listed(repairs)}`, `invalid events: ${listed(invalid)}`,
      ...["the answer key", "the answer"].map((whose, place) => (more[place] ? `${count(more[place])} more events of ${whose} are not shown` : ""))].filter(Boolean).join("; ") + ".";
  }

  function sceneBox(sample, audio, title) {
    const scene = sceneOf(sample.scene);
    const idle = `Choose an event to read it in full${audio ? " and to hear it" : ""}.`;
    const line = el("p", { class: "small reading", "aria-live": "polite" }, idle);
    const read = (event) => {
      for (const one of [...scene.truths, ...scene.guesses]) one.node.classList.toggle("chosen", one === event || (event.pair !== null && one.pair === event.pair));
      for (const pair of scene.pairs) pair.join.classList.toggle("chosen", pair === event.pair);
      line.replaceChildren(el("strong", {}, event.isTrue ? "Answer key " : "Answer "), el("span", { class: "text", dir: "auto" }, about(event)), el("span", { class: event.pair ? "soft" : "bad" }, ` ${fate(event)}`));
    };
    const play = (from) => {
      if (!audio) return;
      audio.currentTime = from;
      // A sound that this browser cannot decode is said where it would be drawn.
      audio.play().catch(() => {});
    };
    const { box, head } = timeline(scene, play, read);
    if (audio) {
      head.hidden = false;
      moveWith(audio, head, () => scene.length);
    }
    const heads = [["Matched events"], ["IoU", true], ["Accuracy", true], ["Cosine", true], ["Speaker", true], ["Score", true]];
    const alone = [eventList("Missed", scene.truths.filter((event) => !event.pair), scene.truths.length + scene.more[0], play),
      eventList("Invented", scene.guesses.filter((event) => !event.pair), scene.guesses.length + scene.more[1], play)].filter(Boolean);
    const pairs = scene.pairs.length ? table(heads, scene.pairs.flatMap((pair) => pairRows(pair, play)), true) : null;
    if (pairs) pairs.classList.add("pairs");
    const numbers = () => [...scene.truths, ...scene.guesses].map((event) => ({ of: event.isTrue ? "answer key" : "answer", type: event.type, start: event.start, end: event.end, words: event.words, caption: event.caption, speaker: event.speaker, language: event.language, loudness: event.loudness,
      matched: event.pair ? "yes" : "no", iou: event.pair && event.pair.iou, accuracy: event.pair && event.pair.accuracy, cosine: event.pair && event.pair.cosine, score: event.pair && event.pair.score }));
    return el("section", { class: "scene", "aria-label": `Events of ${visible(sample.id)}` }, title ? el("h4", {}, title) : null, legend(), withSave(`timeline of ${sample.id}`, numbers, box), line,
      pairs, alone.length ? el("div", { class: "alones" }, alone) : null, el("p", { class: "small soft" }, countsLine(scene)));
  }

