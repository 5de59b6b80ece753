"""Tables as people have them, with the clusters that made them."""

import numpy as np


def customers(n=600, seed=0):
    """Three groups of customers: ids, amounts with a currency, dates, categories, gaps and typing errors."""
    r = np.random.default_rng(seed)
    group = r.integers(0, 3, n)
    spend = np.exp(r.normal(np.array([3.0, 5.0, 7.0])[group], 0.4)).round(2)
    age = np.clip(r.normal(np.array([25, 45, 65])[group], 4), 18, 95).round().astype(int)
    since = np.datetime64("2024-06-01") - np.clip(r.normal(np.array([200, 900, 1500])[group], 90), 1, None).astype(int)
    country = r.choice(["DE", "FR", "IT", "de ", "US"], n, p=[0.4, 0.2, 0.2, 0.1, 0.1])
    table = {
        "customer": [f"C-{i:06d}" for i in r.permutation(n)],
        "spend": [f"€{value:,.2f}" for value in spend],
        "spend with tax": [f"{1.19 * value:.2f}" for value in spend],
        "age": [str(value) for value in age],
        "since": [str(day) for day in since],
        "country": country.tolist(),
        "land": [
            {"DE": "Deutschland", "de ": "Deutschland", "FR": "France", "IT": "Italia", "US": "USA"}[c] for c in country
        ],
        "newsletter": r.choice(["yes", "no"], n).tolist(),
        "orders": r.poisson(np.array([1, 4, 9])[group]).tolist(),
        "remark": [
            f"called about {' '.join(r.choice(['an order', 'a refund', 'the bill'], 4))} no. {i}" for i in range(n)
        ],
        "tenant": ["main"] * n,
        "fax": [None] * (n - 5) + ["yes"] * 5,
    }
    for name, share in (("spend", 0.04), ("age", 0.03), ("country", 0.02)):
        for i in np.flatnonzero(r.random(n) < share):
            table[name][i] = ("n/a", "", "-", "NULL")[i % 4]
    table["age"][7] = "450000"
    return table, group


def machines(n=400, seed=1):
    """Two states of machines: measurements with units, codes for gaps, times, and the numbers of plants."""
    r = np.random.default_rng(seed)
    state = r.integers(0, 2, n)
    temperature = r.normal(np.array([60.0, 82.0])[state], 2.5).round(2)
    temperature[r.random(n) < 0.03] = -999.0
    table = {
        "serial": [f"{r.integers(16**8):08x}-{i:04x}" for i in range(n)],
        "temperature": temperature,
        "fahrenheit": np.where(temperature == -999, np.nan, temperature * 1.8 + 32),
        "load": [f"{value:.1f} kW".replace(".", ",") for value in r.normal(np.array([4, 9])[state], 0.8)],
        "measured": [
            f"{d % 28 + 1:02d}/{d % 12 + 1:02d}/2024 {d % 24:02d}:{d % 60:02d}" for d in r.integers(0, 9999, n)
        ],
        "plant": r.choice([1004, 2310, 4711, 8802], n),
        "line": r.integers(1, 4, n),
        "ok": r.random(n) < 0.7,
    }
    return table, state


ROLES = {
    "customer": "identifier",
    "spend": "number",
    "spend with tax": "copy",
    "age": "number",
    "since": "date",
    "country": "category",
    "land": "copy",
    "newsletter": "boolean",
    "orders": "number",
    "remark": "text",
    "tenant": "constant",
    "fax": "empty",
}
