"""Judges who are not us, each in an environment of its own: what they say of releases, of epsilons and of classes.

    python -m benchmarks.judges [--adult adult.csv --hierarchies FOLDER] [--only PART] [--out FOLDER]

- `releases`: anonymeter, sdmetrics and syntheval before an original, releases of it, and one that is broken.
- `epsilons`: dp-accounting and OpenDP on local, composed and central epsilons, and on one that is understated.
- `classes`: pycanon on generalised releases, and on one whose suppressed rows were left in.
- `optima`: the levels that ARX chooses on Adult, against our search.

`python -m benchmarks.judges.synthetic` has synthetic records judged.
"""
