"""Read English with its words, of the recordings beside the checkout, as a data set."""

import json

import soundfile


def read_speech(folder, shared):
    """Twenty clips of English with their words, in LibriSpeech's layout."""
    speech, chapters = shared / "speech", {}
    clips = json.loads((speech / "audiobench" / "manifest.json").read_text())["clips"]
    chapters[11] = [(speech / "audiobench" / clip["file"], clip["text"]) for clip in clips]
    for speaker, name, table in ((12, "cards", "cards.transcription"), (13, "librivox", "transcription")):
        lines = [line.rpartition(" ") for line in (speech / name / table).read_text().splitlines()]
        chapters[speaker] = [
            (speech / name / f"{file.strip('()')}.wav", text.strip().removeprefix("<s>").removesuffix("</s>"))
            for text, _, file in lines
        ]
    for speaker, recordings in chapters.items():
        chapter = folder / "LibriSpeech" / "test-clean" / str(speaker) / "1"
        chapter.mkdir(parents=True)
        lines = []
        for number, (recording, text) in enumerate(recordings):
            name = f"{speaker}-1-{number:04}"
            soundfile.write(chapter / f"{name}.flac", *soundfile.read(recording))
            lines.append(f"{name} {''.join(sign for sign in text.upper() if sign.isalpha() or sign in chr(39) + ' ')}")
        (chapter / f"{speaker}-1.trans.txt").write_text("\n".join(lines) + "\n")
