  // The samples whose answer flips at the smallest dose at which any does, with what was played before and after.
  const versionName = { clean: "clean", changed: "under the perturbation", "": "as it was played" };

  function linkTo(flip) {
    const sample = all.find((one) => one.id === flip.sample_id && one.epoch === flip.epoch && one.eval.name === flip.eval && one.eval.model === flip.model);
    const id = el("strong", { class: "mono" }, visible(flip.sample_id));
    // The address is made without what is filtered by at this moment.
    return sample ? el("a", { href: `#${new URLSearchParams(named_(sample))}` }, id) : id;
  }

  // A player decodes its sound at once, so it is made when it is wanted.
  function soundsOf(flip) {
    const heard = flip.sounds.map(([clip, sound, length, whole, version]) => ({ clip, sound, seconds: length, whole, version })).sort((one, other) => one.clip - other.clip || (one.version === "clean" ? -1 : 1));
    const several = new Set(heard.map((one) => one.clip)).size > 1;
    return el("div", { class: "versions" }, heard.map((one) => el("figure", { class: "version", "data-version": one.version },
      el("figcaption", { class: "small soft" }, several ? `clip ${one.clip + 1}, ` : "", versionName[one.version] || ""), player(one))));
  }

  function flipLine(flip) {
    return el("li", { class: "flip" }, el("div", {}, linkTo(flip), data.epochs > 1 ? el("span", { class: "small soft" }, ` epoch ${flip.epoch + 1}`) : null),
      el("div", { class: "small", dir: "auto" }, visible(flip.question)),
      el("div", { class: "turn" }, el("span", { class: "soft" }, "before: "), el("span", { dir: "auto" }, visible(flip.before)), el("span", { class: "soft" }, " → now: "), el("strong", { dir: "auto" }, visible(flip.after)),
        flip.reference ? [el("span", { class: "soft" }, " · reference: "), el("span", { dir: "auto" }, visible(flip.reference))] : null),
      flip.sounds.length ? soundsOf(flip) : null);
  }

  function drawFlips(into) {
    into.append(el("p", { class: "soft" }, "For each data set and family of perturbations the easiest dose at which any answer becomes another option than the one it is compared with (to the clean clip, or with the reasoning as it was), both parsed, and the samples that flip there."));
    for (const [number, one] of data.flips.entries()) {
      const box = el("details", { open: number === 0 }, el("summary", {}, `${visible(one.family)} at ${visible(one.dose)}`,
        el("span", { class: "small soft" }, ` ${visible(named(one.of, one.model))} · ${visible(one.perturbation)} · ${count(one.count)} of ${count(one.n)} samples flip`)));
      whenOpen(box, () => [el("ul", { class: "flips" }, one.flips.map(flipLine)),
        one.count > one.flips.length ? el("p", { class: "small soft" }, `${count(one.count - one.flips.length)} more: scored_predictions.jsonl, where flipped is 1.`) : null,
        one.flips.some((flip) => flip.sounds.length) ? null : el("p", { class: "small soft" }, "No audio on this page: add it with --ab-report-audio=flips or all, where the audio is on the machine that asks.")]);
      into.append(box);
    }
  }
