"""Spectrograms are made once, a row depends on its clip alone, and an encoder hears the same at a clip's own length."""

from pathlib import Path

import numpy as np
import pytest

from pytest_audiobench.models.hf.model import HfModel

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

GOOD = Path(__file__).parents[2] / "fixtures" / "checkpoints" / "good"


class Counting(transformers.WhisperFeatureExtractor):
    """The published extractor, with the number of clips that it was given."""

    clips = 0

    def __call__(self, raw_speech, **options):
        self.clips += len(raw_speech)
        return super().__call__(raw_speech, **options)


@pytest.fixture
def spectrograms():
    from pytest_audiobench.models.hf.features import Spectrograms

    def make(**options):
        extractor = Counting(feature_size=32, chunk_length=2)
        return extractor, Spectrograms(extractor, **options)

    return make


@pytest.fixture
def clips():
    random = np.random.default_rng(5)
    lengths = (16_000, 300, 9_001, 30_500, 32_000, 31_999, 4_000)
    return [random.normal(0, 0.1, length).astype(np.float32) for length in lengths]


def test_a_row_is_the_same_to_the_last_bit_whatever_it_is_made_beside(spectrograms, clips):
    _, memory = spectrograms()
    unnamed = [""] * len(clips)
    together = memory.rows(clips, unnamed)
    for place, clip in enumerate(clips):
        (alone,) = memory.rows([clip], [""])
        assert torch.equal(alone, together[place])
    turned = memory.rows(clips[::-1], unnamed)[::-1]
    assert all(torch.equal(a, b) for a, b in zip(together, turned, strict=True))


def test_a_clip_is_computed_once_wherever_it_comes_again(spectrograms, clips):
    extractor, memory = spectrograms()
    names = [str(i) for i in range(len(clips))]
    first = memory.rows([*clips, clips[0]], [*names, "0"])
    assert extractor.clips == len(clips)
    again = memory.rows(clips[2:], names[2:])
    assert extractor.clips == len(clips)
    assert all(torch.equal(a, b) for a, b in zip(first[2:], again, strict=False))
    memory.rows(clips[:1], [""])
    memory.rows(clips[:1], [""])
    assert extractor.clips == len(clips) + 2


def test_memory_is_bounded_and_what_was_used_longest_ago_is_forgotten(spectrograms, clips):
    extractor, memory = spectrograms(most_bytes=60_000)  # two rows of 200 frames
    for name in "abacab":
        memory.rows([clips[3]], [name])
    assert extractor.clips == 4  # a, b, c in the place of b, b


def test_a_batch_is_filled_up_with_what_silence_looks_like(spectrograms, clips):
    extractor, memory = spectrograms()
    whole = extractor(clips, sampling_rate=16_000, return_tensors="pt")["input_features"]
    unnamed = [""] * len(clips)
    assert torch.equal(memory.batch(clips, unnamed, whole_window=True, even=False), whole)
    short = memory.batch(clips[1:3], unnamed[1:3], whole_window=False, even=True)
    assert short.shape[-1] < 80
    assert short.shape[-1] % 2 == 0
    assert torch.equal(short, whole[1:3, :, : short.shape[-1]])


@pytest.mark.skipif(not GOOD.is_dir(), reason="needs the checkpoints in fixtures/checkpoints")
def test_the_encoder_hears_at_a_clips_own_length_what_it_hears_in_the_whole_window(ask_about, heard, recordings):
    """Of the trained checkpoint: every logit beside the published processor's on the whole window, and the answers."""
    from pytest_audiobench.models.hf.generation import by_processor

    model = HfModel(str(GOOD), {"device": "cpu"})
    model.load()
    engine = model._engine
    played = [*recordings(16_000, 3.0), heard(np.zeros(2_000)), heard(recordings(16_000, 3.0)[0].samples[:8_017])]
    asks = [ask_about("What is heard?", clip, max_new_tokens=8) for clip in played]
    with torch.inference_mode():
        for chosen in ([7, 8, 9], range(len(asks)), [9]):
            prompts = [engine._prompt(asks[i]) for i in chosen]
            short, whole = engine._inputs(prompts), by_processor(engine.processor, prompts, 16_000)
            assert short["input_features"].shape[-1] <= whole["input_features"].shape[-1] == 300
            of_short, of_whole = engine.model(**short).logits, engine.model(**whole).logits
            told = short["attention_mask"].bool()
            assert torch.allclose(of_short[told], of_whole[told], atol=2e-4)
            assert torch.equal(of_short[told].argmax(-1), of_whole[told].argmax(-1))
            texts = [
                engine.model.generate(**inputs, max_new_tokens=8, do_sample=False)[:, inputs["input_ids"].shape[1] :]
                for inputs in (short, whole)
            ]
            assert texts[0].tolist() == texts[1].tolist()
        lengths = {engine._inputs([engine._prompt(ask)])["input_features"].shape[-1] for ask in asks}
        assert len(lengths) > 2
    model.close()


def test_an_encoder_that_is_not_the_published_one_is_given_whole_windows(tiny_checkpoint):
    from pytest_audiobench.models.hf.families import FAMILIES
    from pytest_audiobench.models.hf.features import shorten_qwen2_audio, takes_any_length
    from pytest_audiobench.models.hf.loading import Load, load_model, load_processor

    class OtherPositions(torch.nn.Embedding):
        pass

    load = Load(tiny_checkpoint, FAMILIES["qwen2_audio"])
    processor, model = load_processor(load, "AutoProcessor"), load_model(load)
    tower = next(part for name, part in model.named_modules() if name.endswith("audio_tower"))
    own = tower.embed_positions
    tower.embed_positions = OtherPositions(own.num_embeddings, own.embedding_dim)
    shorten_qwen2_audio(processor, model)
    assert not takes_any_length(processor.feature_extractor)
    tower.embed_positions = own
    shorten_qwen2_audio(processor, model)
    assert takes_any_length(processor.feature_extractor)


def test_features_that_were_made_ahead_on_other_threads_are_found_and_answers_are_the_same(
    built, ask_about, recordings
):
    from concurrent.futures import ThreadPoolExecutor

    played = recordings(16_000, 1.0)
    asks = [ask_about("What is it?", one, task="open", max_new_tokens=8) for one in played]
    plain, ahead = (HfModel(str(built("qwen25_omni_thinker")), {"device": "cpu"}) for _ in range(2))
    ahead.load()
    extractor = Counting.from_dict(ahead._engine.processor.feature_extractor.to_dict())
    ahead._engine.processor.feature_extractor = extractor
    plain_texts = [response.text for response in plain.ask(asks)]
    with ThreadPoolExecutor(4) as pool:
        for one in played:
            pool.submit(ahead._engine.prepare_audio, [one])
    made = extractor.clips
    assert made == len({one.pcm_digest for one in played})
    assert [response.text for response in ahead.ask(asks)] == plain_texts
    assert extractor.clips == made
    ahead.prepare_audio(recordings(16_000, 0.5))  # on the processor nothing is made ahead in a run
    assert extractor.clips == made
    plain.close()
    ahead.close()


def test_what_asking_was_spent_on_is_told(tiny_checkpoint, ask_about, heard):
    model = HfModel(str(tiny_checkpoint), {"device": "cpu"})
    assert model.seconds == {}
    model.ask([ask_about("Which digit?", heard(np.zeros(4_000)), max_new_tokens=2)])
    assert set(model.seconds) == {"features_s", "generate_s"}
    assert all(seconds > 0 for seconds in model.seconds.values())
    model.close()
