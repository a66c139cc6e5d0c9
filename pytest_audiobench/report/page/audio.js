  // A sound that the page holds: the browser's own player, and beneath it the waveform and the spectrogram, drawn here.
  // wavesurfer.js 8.0.1, the established library for it, writes its elements and an inline style as markup (innerHTML), which
  // the page's policy forbids, and adds 109 kB.
  const RATE_HZ = 16000;
  const WAVE_PX = 64;
  const SPECTRUM_PX = 128;
  const AXIS_PX = 16;
  const WINDOW = 512;
  const FLOOR_DB = -70;
  // Dark to bright, so that it reads without colour too.
  const COLOURS = [[0, 0, 4], [50, 10, 94], [120, 28, 109], [188, 55, 84], [237, 105, 37], [251, 180, 26], [252, 255, 164]];

  const addresses = new Map();

  // A canvas keeps the colours that it was drawn in, so it is drawn anew where the page becomes light or dark.
  document.addEventListener("theme", () => {
    for (const canvas of document.querySelectorAll("canvas.sound")) canvas.dispatchEvent(new Event("theme"));
  });

  const bytesOf = (sound) => Uint8Array.from(atob(sounds[sound].textContent), (character) => character.charCodeAt(0));

  function player({ sound, seconds: length, whole }) {
    const bytes = bytesOf(sound);
    const audio = el("audio", { controls: true, preload: "metadata" });
    if (!addresses.has(sound)) addresses.set(sound, URL.createObjectURL(new Blob([bytes], { type: sounds[sound].dataset.type })));
    audio.src = addresses.get(sound);
    const canvas = el("canvas", { class: "sound", role: "img", "aria-label": `waveform and spectrogram of ${seconds(length)}, up to ${RATE_HZ / 2000} kHz` });
    const head = el("div", { class: "head" });
    const stage = el("div", { class: "stage" }, canvas, head);
    const note = whole > length + 0.05 ? el("div", { class: "small soft" }, `the first ${seconds(length)} of ${seconds(whole)} that were played to the model`) : null;
    stage.addEventListener("click", (event) => {
      if (audio.duration) audio.currentTime = event.offsetX / stage.clientWidth * audio.duration;
    });
    moveWith(audio, head, () => audio.duration);
    const box = el("div", { class: "player" }, audio, stage, note);
    new OfflineAudioContext(1, 1, RATE_HZ).decodeAudioData(bytes.buffer).then(
      (decoded) => {
        const draw = () => drawSound(canvas, decoded.getChannelData(0));
        draw();
        canvas.dataset.drawn = "true";
        canvas.addEventListener("theme", draw);
      },
      () => stage.replaceChildren(el("p", { class: "small warn" }, "This browser cannot decode the sound.")));
    return box;
  }

  // The line that shows where a sound is, on an axis of `length` seconds.
  function moveWith(audio, head, length) {
    const move = () => {
      head.style.left = `${length() ? Math.min(1, audio.currentTime / length()) * 100 : 0}%`;
      if (!audio.paused && audio.isConnected) requestAnimationFrame(move);
    };
    for (const event of ["play", "seeked", "pause"]) audio.addEventListener(event, move);
  }

  function playOrStop(box) {
    const audio = box.querySelector("audio");
    if (!audio) return;
    if (audio.paused) audio.play();
    else audio.pause();
  }

  function drawSound(canvas, samples) {
    const scale = Math.min(2, window.devicePixelRatio || 1);
    const width = Math.max(200, Math.round((canvas.parentElement.clientWidth || 700) * scale));
    canvas.width = width;
    canvas.height = Math.round((WAVE_PX + SPECTRUM_PX + AXIS_PX) * scale);
    const pen = canvas.getContext("2d");
    drawWave(pen, samples, width, WAVE_PX * scale, getComputedStyle(canvas).color);
    drawSpectrum(pen, samples, width, Math.round(WAVE_PX * scale), Math.round(SPECTRUM_PX * scale));
    pen.fillStyle = getComputedStyle(canvas.parentElement).color;
    pen.font = `${11 * scale}px sans-serif`;
    const length = samples.length / RATE_HZ;
    const step = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60].find((one) => length / one <= 8) || 60;
    for (let at = 0; at <= length; at += step) {
      const x = at / length * width;
      pen.fillRect(x, (WAVE_PX + SPECTRUM_PX) * scale, scale, 3 * scale);
      pen.fillText(`${Number(at.toFixed(1))} s`, Math.min(x + 3 * scale, width - 30 * scale), canvas.height - 3 * scale);
    }
    pen.fillStyle = "#fff";
    for (const khz of [2, 4, 6]) pen.fillText(`${khz} kHz`, 3 * scale, (WAVE_PX + SPECTRUM_PX * (1 - khz / (RATE_HZ / 2000))) * scale);
  }

  // The least and the greatest value of each column, on a scale of the clip's own peak where that is below one.
  function drawWave(pen, samples, width, height, colour) {
    let peak = 1e-6;
    for (const value of samples) peak = Math.max(peak, Math.abs(value));
    pen.fillStyle = colour;
    for (let x = 0; x < width; x += 1) {
      let low = 0;
      let high = 0;
      const end = Math.ceil((x + 1) / width * samples.length);
      for (let at = Math.floor(x / width * samples.length); at < end; at += 1) {
        low = Math.min(low, samples[at] || 0);
        high = Math.max(high, samples[at] || 0);
      }
      const top = height / 2 * (1 - high / peak * 0.95);
      pen.fillRect(x, top, 1, Math.max(1, height / 2 * (1 - low / peak * 0.95) - top));
    }
  }

  // Power of Hann windows, in decibels below the loudest.
  function drawSpectrum(pen, samples, width, top, height) {
    const columns = Math.min(width, 600);
    const bins = WINDOW / 2;
    const power = new Float32Array(columns * bins);
    const window_ = Float32Array.from({ length: WINDOW }, (_, at) => 0.5 - 0.5 * Math.cos(2 * Math.PI * at / WINDOW));
    const real = new Float32Array(WINDOW);
    const imaginary = new Float32Array(WINDOW);
    let loudest = 1e-12;
    for (let column = 0; column < columns; column += 1) {
      const from = Math.round((column + 0.5) / columns * samples.length - WINDOW / 2);
      for (let at = 0; at < WINDOW; at += 1) real[at] = (samples[from + at] || 0) * window_[at];
      imaginary.fill(0);
      transform(real, imaginary);
      for (let bin = 0; bin < bins; bin += 1) {
        const own = real[bin] ** 2 + imaginary[bin] ** 2;
        power[column * bins + bin] = own;
        if (own > loudest) loudest = own;
      }
    }
    const picture = new ImageData(columns, bins);
    for (let column = 0; column < columns; column += 1) {
      for (let bin = 0; bin < bins; bin += 1) {
        const level = 10 * Math.log10(power[column * bins + bin] / loudest + 1e-12);
        picture.data.set(colourOf(1 - Math.max(FLOOR_DB, level) / FLOOR_DB), ((bins - 1 - bin) * columns + column) * 4);
      }
    }
    const plain = el("canvas");
    [plain.width, plain.height] = [columns, bins];
    plain.getContext("2d").putImageData(picture, 0, 0);
    pen.drawImage(plain, 0, top, width, height);
  }

  function colourOf(share) {
    const at = share * (COLOURS.length - 1);
    const [low, high] = [COLOURS[Math.floor(at)], COLOURS[Math.min(COLOURS.length - 1, Math.floor(at) + 1)]];
    return [0, 1, 2].map((part) => low[part] + (high[part] - low[part]) * (at % 1)).concat(255);
  }

  // The fast Fourier transform of a power of two, in place (Cooley and Tukey, 1965).
  function transform(real, imaginary) {
    const n = real.length;
    for (let i = 1, j = 0; i < n; i += 1) {
      let bit = n >> 1;
      for (; j & bit; bit >>= 1) j ^= bit;
      j ^= bit;
      if (i < j) {
        [real[i], real[j]] = [real[j], real[i]];
        [imaginary[i], imaginary[j]] = [imaginary[j], imaginary[i]];
      }
    }
    for (let size = 2; size <= n; size *= 2) {
      const half = size / 2;
      for (let k = 0; k < half; k += 1) {
        const [c, s] = [Math.cos(-2 * Math.PI * k / size), Math.sin(-2 * Math.PI * k / size)];
        for (let i = k; i < n; i += size) {
          const [re, im] = [real[i + half] * c - imaginary[i + half] * s, real[i + half] * s + imaginary[i + half] * c];
          [real[i + half], imaginary[i + half]] = [real[i] - re, imaginary[i] - im];
          [real[i], imaginary[i]] = [real[i] + re, imaginary[i] + im];
        }
      }
    }
  }

