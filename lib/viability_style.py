"""How the audit's page looks: one style sheet, system fonts, readable in print and in grey."""

STYLE = """
:root{--ink:#22262b;--muted:#646a72;--line:#dadde1;--blue:#0b3c6f;--orange:#b4480c;--green:#1f776c}
*{box-sizing:border-box}
body{margin:0;background:#f6f7f8;color:var(--ink);font:15px/1.55 system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif}
main{max-width:1040px;margin:0 auto;background:#fff;padding:44px 52px 60px}
.kicker{margin:0;color:var(--muted);font-size:12px;letter-spacing:.09em;text-transform:uppercase}
h1{margin:2px 0 14px;font-size:32px;line-height:1.15;letter-spacing:-.01em}
h2{margin:44px 0 12px;font-size:20px}
header p{max-width:74ch}
.answer{font-size:19px;margin:0 0 6px}
.setup,.note{color:var(--muted);font-size:13.5px}
.note,.reading{max-width:88ch}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:13.5px;font-variant-numeric:tabular-nums}
th{text-align:left;color:var(--muted);font-weight:600;font-size:12px;vertical-align:bottom}
th,td{padding:7px 12px 7px 0;border-bottom:1px solid var(--line)}
td{vertical-align:top}
td small{display:block;color:var(--muted);font-size:11.5px;white-space:nowrap}
tbody tr:last-child td{border-bottom:2px solid var(--line)}
.tag{display:inline-block;padding:1px 8px;border-radius:4px;font-weight:600;border:1.5px solid currentColor}
.good{color:var(--blue);background:#e8eff6}.bad{color:var(--orange);background:#fbeee5}.keep{color:var(--green);background:#e5f3f0}
.open{color:var(--muted);background:#f3f4f5;border-style:dashed}
.lean{display:block;margin-top:3px;color:var(--muted);font-size:12px}
figure{margin:8px 0 0}
figure svg{max-width:100%;height:auto}
details{margin:6px 0}
summary{cursor:pointer;font-weight:600}
.bar{display:inline-block;height:10px;background:var(--blue);border-radius:2px}
@media (max-width:700px){
main{padding:24px 18px}h1{font-size:27px}
.cards,.cards tbody{display:block}.cards thead{display:none}
.cards tr{display:grid;grid-template-columns:1fr 1fr 1fr;gap:6px 10px;padding:14px 0;border-bottom:1px solid var(--line)}
.cards td,.cards tbody tr:last-child td{padding:0;border:0;grid-column:1/-1}
.cards td:nth-child(n+3):nth-child(-n+6){order:1}
.cards td:nth-child(n+4):nth-child(-n+6){grid-column:auto}
.cards td:nth-child(n+3):nth-child(-n+6)::before{content:attr(data-head);display:block;color:var(--muted);font-size:11.5px}
}
@media print{body{background:#fff}main{padding:0}h2{break-after:avoid}tr{break-inside:avoid}}
"""
