"""The vocabulary of messy tables: columns, levels and phrases of a shop, of machines and of patients."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["money", "count", "percent", "measure"]


@dataclass(frozen=True)
class Number:
    """A number column: `middle` is the median, `spread` the standard deviation (of the log in a lognormal column)."""

    name: str
    kind: Kind
    middle: float
    spread: float
    decimals: int = 0
    low: float = 0.0
    high: float = float("inf")
    unit: str = ""


@dataclass(frozen=True)
class Category:
    """A category column and its levels, the common ones first."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True)
class Theme:
    """The columns that a table about one subject may have.

    `codes` have a name, a number of digits and a number of levels. `prefix` starts an identifier such as C-004711.
    `phrases` are the openings, middles and ends of a free text; a number goes into the braces. The first of the `dates`
    is years before the others.
    """

    skewed: tuple[Number, ...]
    even: tuple[Number, ...]
    categories: tuple[Category, ...]
    noise_categories: tuple[Category, ...]
    long_categories: tuple[Category, ...]
    booleans: tuple[str, ...]
    codes: tuple[tuple[str, int, int], ...]
    dates: tuple[str, ...]
    identifiers: tuple[tuple[str, Literal["number", "sequence", "uuid"]], ...]
    prefix: str
    texts: tuple[str, ...]
    phrases: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
    constants: tuple[tuple[str, str], ...]
    sparse: tuple[str, ...]


CITIES = (
    "Berlin", "Hamburg", "München", "Köln", "Frankfurt", "Stuttgart", "Düsseldorf", "Leipzig", "Dortmund", "Essen",
    "Bremen", "Dresden", "Hannover", "Nürnberg", "Duisburg", "Bochum", "Wuppertal", "Bielefeld", "Bonn", "Münster",
    "Mannheim", "Karlsruhe", "Augsburg", "Wiesbaden", "Kiel", "Aachen", "Halle", "Magdeburg", "Freiburg", "Krefeld",
    "Mainz", "Lübeck", "Erfurt", "Oberhausen", "Rostock", "Kassel", "Hagen", "Potsdam", "Saarbrücken", "Hamm",
)  # fmt: skip

SHOP = Theme(
    skewed=(
        Number("spend", "money", 420.0, 0.9, 2),
        Number("orders", "count", 60, 0.7, low=1),
        Number("visits", "count", 240, 0.8, low=1),
        Number("basket", "money", 64.0, 0.6, 2),
        Number("page_views", "count", 1800, 0.9, low=1),
        Number("coupon_value", "money", 38.0, 0.7, 2),
        Number("minutes_on_site", "count", 310, 0.8, low=1),
        Number("parcel_weight", "measure", 7.4, 0.6, 2, unit="kg"),
        Number("loyalty_points", "count", 2600, 0.9),
    ),
    even=(
        Number("age", "count", 46, 10.0, 0, 16, 98),
        Number("rating", "measure", 3.4, 0.5, 2, 1, 5, unit="/5"),
        Number("discount_share", "percent", 31.0, 7.5, 1, 0, 100),
        Number("mobile_share", "percent", 52.0, 12.0, 1, 0, 100),
        Number("delivery_time", "measure", 52.0, 12.0, 1, 1, unit="h"),
        Number("return_rate", "percent", 18.0, 4.5, 1, 0, 100),
        Number("satisfaction", "count", 640, 90.0, 0, 0, 1000),
        Number("weekend_share", "percent", 38.0, 9.0, 1, 0, 100),
    ),
    categories=(
        Category("channel", ("web", "app", "store", "phone", "marketplace", "partner", "mail order")),
        Category("payment", ("card", "PayPal", "invoice", "transfer", "cash on delivery", "gift card", "installments")),
        Category("favorite_department", ("Home", "Garden", "Fashion", "Sports", "Toys", "Books", "Electronics")),
        Category("country", ("Germany", "France", "Netherlands", "Austria", "Poland", "Spain", "Italy", "Denmark")),
        Category("tier", ("bronze", "silver", "gold", "platinum", "staff", "trial")),
    ),
    noise_categories=(
        Category("gender", ("f", "m", "d")),
        Category("browser", ("Chrome", "Safari", "Firefox", "Edge", "Samsung Internet", "Opera", "Brave")),
        Category("title", ("Ms", "Mr", "Dr", "Prof")),
        Category("acquired_by", ("search", "friend", "newsletter", "poster", "fair", "radio", "none")),
    ),
    long_categories=(Category("city", CITIES),),
    booleans=("newsletter", "has_app", "gift_wrap", "b2b"),
    codes=(("postcode", 5, 400), ("store_no", 3, 24), ("region_code", 2, 12)),
    dates=("signup_date", "last_order", "last_login"),
    identifiers=(("customer_id", "number"), ("row_id", "sequence"), ("session_uuid", "uuid")),
    prefix="C-",
    texts=("comment", "service_note"),
    phrases=(
        ("Asked about", "Called because of", "Complained about", "Very happy with", "Wrote to us on", "Unsure about"),
        (
            "a late parcel",
            "the wrong size",
            "an invoice",
            "the new app",
            "a voucher",
            "order {}",
            "store {}",
            "a refund",
        ),
        ("resolved", "call back on Monday", "sent code {}", "no answer yet", "thanks!", "forwarded to desk {}", "ok"),
    ),
    constants=(("currency", "EUR"), ("shop", "main"), ("export_version", "3")),
    sparse=("fax_orders", "referral_bonus", "company_size"),
)

MACHINES = Theme(
    skewed=(
        Number("vibration", "measure", 2.6, 0.6, 3, unit="mm/s"),
        Number("cycles", "count", 48000, 0.8, low=1),
        Number("oil_particles", "count", 520, 0.9),
        Number("energy_use", "measure", 860.0, 0.7, 1, unit="kWh"),
        Number("downtime", "measure", 34.0, 0.8, 1, unit="min"),
        Number("scrap_parts", "count", 140, 0.8),
        Number("repair_cost", "money", 1450.0, 0.9, 2),
        Number("torque_peak", "measure", 95.0, 0.5, 1, unit="Nm"),
    ),
    even=(
        Number("temperature", "measure", 68.0, 8.0, 1, -40, 200, unit="°C"),
        Number("pressure", "measure", 6.2, 0.9, 2, unit="bar"),
        Number("rpm", "count", 2900, 320.0),
        Number("load", "percent", 61.0, 11.0, 1, 0, 100),
        Number("humidity", "percent", 44.0, 8.0, 1, 0, 100),
        Number("voltage", "measure", 396.0, 6.0, 1, unit="V"),
        Number("efficiency", "percent", 78.0, 5.0, 1, 0, 100),
        Number("noise_level", "measure", 74.0, 6.0, 1, unit="dB"),
    ),
    categories=(
        Category("line", ("L1", "L2", "L3", "L4", "L5", "L6", "test bench")),
        Category("product", ("gear", "shaft", "housing", "valve", "bearing", "bracket", "prototype")),
        Category("controller", ("S7-1500", "S7-300", "CX5140", "Logix", "FX5U", "M340", "unknown")),
        Category("mode", ("series", "small batch", "setup", "overnight", "manual", "calibration")),
        Category("lubricant", ("VG 32", "VG 46", "VG 68", "VG 100", "grease", "dry", "other")),
    ),
    noise_categories=(
        Category("shift", ("early", "late", "night")),
        Category("color", ("grey", "blue", "green", "red", "yellow")),
        Category("floor", ("ground", "first", "basement", "yard")),
        Category("cleaning_crew", ("A", "B", "C", "D", "external")),
    ),
    long_categories=(Category("operator", tuple(f"OP{number:02d}" for number in range(1, 41))),),
    booleans=("under_warranty", "networked", "retrofitted", "spare_on_stock"),
    codes=(("error_code", 4, 150), ("plant_no", 3, 18), ("cost_center", 5, 30)),
    dates=("installed_on", "last_service", "last_alarm"),
    identifiers=(("serial_no", "number"), ("entry", "sequence"), ("asset_uuid", "uuid")),
    prefix="SN",
    texts=("maintenance_note", "remark"),
    phrases=(
        ("Replaced", "Checked", "Noise at", "Leak near", "Adjusted", "Waiting for"),
        ("belt {}", "main bearing", "filter", "sensor {}", "coolant pump", "hydraulic hose", "door switch", "fuse {}"),
        ("ok after restart", "order part {}", "see log {}", "watch until Friday", "no finding", "done", "escalated"),
    ),
    constants=(("site", "Leipzig"), ("owner", "production"), ("schema", "v2")),
    sparse=("laser_power", "second_spindle_rpm", "gas_flow"),
)

PATIENTS = Theme(
    skewed=(
        Number("crp", "measure", 14.0, 0.9, 1, unit="mg/l"),
        Number("creatinine", "measure", 84.0, 0.5, 1, unit="µmol/l"),
        Number("length_of_stay", "measure", 160.0, 0.7, 0, 1, unit="h"),
        Number("treatment_cost", "money", 3900.0, 0.9, 2),
        Number("triglycerides", "measure", 132.0, 0.5, 0, unit="mg/dl"),
        Number("ferritin", "measure", 118.0, 0.8, 0, unit="ng/ml"),
        Number("steps_per_day", "count", 3900, 0.7),
        Number("lab_tests", "count", 64, 0.6, low=1),
    ),
    even=(
        Number("age", "count", 58, 11.0, 0, 0, 105),
        Number("bmi", "measure", 26.4, 2.8, 1, 12, 70),
        Number("systolic", "measure", 132.0, 14.0, 0, 60, 260, unit="mmHg"),
        Number("heart_rate", "measure", 76.0, 9.0, 0, 30, 220, unit="bpm"),
        Number("hba1c", "percent", 6.1, 0.6, 2, 3, 20),
        Number("oxygen", "percent", 92.0, 2.0, 1, 50, 100),
        Number("weight", "measure", 77.0, 10.0, 1, 20, 250, unit="kg"),
        Number("sodium", "measure", 139.0, 2.6, 1, unit="mmol/l"),
    ),
    categories=(
        Category("ward", ("internal", "surgery", "cardiology", "neurology", "geriatrics", "ENT", "day clinic")),
        Category("admission", ("emergency", "referral", "planned", "transfer", "self", "other")),
        Category("diagnosis_group", ("I", "II", "III", "IV", "V", "VI", "unclear")),
        Category("mobility", ("walks alone", "with aid", "wheelchair", "bedridden", "unknown")),
        Category("smoker", ("never", "former", "current", "occasional", "not asked")),
    ),
    noise_categories=(
        Category("blood_type", ("O", "A", "B", "AB")),
        Category("insurer", ("AOK", "TK", "Barmer", "DAK", "IKK", "private", "self-paying")),
        Category("language", ("German", "Turkish", "Polish", "Arabic", "English", "Russian", "other")),
        Category("meal", ("standard", "vegetarian", "light", "halal", "vegan")),
    ),
    long_categories=(Category("residence", CITIES),),
    booleans=("allergies", "consent", "implant", "single_room"),
    codes=(("postcode", 5, 400), ("station_no", 3, 24), ("drg", 3, 120)),
    dates=("insured_since", "admitted", "last_visit"),
    identifiers=(("patient_no", "number"), ("case", "sequence"), ("record_uuid", "uuid")),
    prefix="P",
    texts=("note", "history"),
    phrases=(
        ("Reports", "Denies", "Treated for", "Family history of", "Follow-up for", "Suspected"),
        (
            "chest pain",
            "dizziness",
            "a fall",
            "joint pain, file {}",
            "cough",
            "headache",
            "fever, chart {}",
            "insomnia",
        ),
        (
            "stable",
            "review with ward {}",
            "discharged home",
            "dose raised to {} mg",
            "see letter",
            "no change",
            "imaging",
        ),
    ),
    constants=(("hospital", "St. Anna"), ("export", "full"), ("unit_system", "SI")),
    sparse=("tumor_marker", "insulin_units", "dialysis_hours"),
)

THEMES = {"shop": SHOP, "machines": MACHINES, "patients": PATIENTS}
