/** The style of the reference page, light and dark, wide and narrow. */
export const PAGE_STYLE = `
:root{color-scheme:light dark;--text:#1c2128;--quiet:#59636e;--page:#fff;--side:#f6f8fa;--line:#d8dee4;--code:#f3f5f8;--link:#0550ae;--mark:#fff4c2;--get:#0550ae;--post:#1a6b32;--put:#8a4b00;--delete:#b4232c;font:16px/1.55 system-ui,sans-serif}
@media(prefers-color-scheme:dark){:root{--text:#e2e6eb;--quiet:#9aa5b1;--page:#12161c;--side:#171c23;--line:#2f3741;--code:#1b2129;--link:#79b8ff;--mark:#3a3312;--get:#79b8ff;--post:#6fd08c;--put:#f0b35e;--delete:#ff8f88}}
*{box-sizing:border-box}
html{scroll-padding-top:1rem}
body{margin:0;color:var(--text);background:var(--page);display:grid;grid-template-columns:21rem minmax(0,1fr)}
a{color:var(--link);text-underline-offset:.15em}
:focus-visible{outline:3px solid var(--link);outline-offset:2px;border-radius:3px}
.skip{position:absolute;left:-99rem}.skip:focus{left:1rem;top:1rem;background:var(--page);padding:.5rem 1rem;z-index:1}
code,pre,.method,.status,.type{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
code{font-size:.9em;overflow-wrap:anywhere}
p code,dd code,td code,li code{background:var(--code);padding:.1em .3em;border-radius:4px}
small{color:var(--quiet);font-size:.8rem}
nav{position:sticky;top:0;height:100vh;overflow:auto;padding:1.25rem 1rem 2rem;background:var(--side);border-right:1px solid var(--line);font-size:.85rem}
nav .brand{font-size:1.15rem;font-weight:700;margin:0 0 1rem}
nav h2{font-size:.85rem;margin:1.1rem 0 .3rem}
nav a{color:inherit;text-decoration:none}nav a:hover{text-decoration:underline}
nav ul,.index ul{list-style:none;margin:0;padding:0}
nav li a,.index li a{display:grid;grid-template-columns:3.6rem 1fr;align-items:baseline;padding:.12rem 0;color:inherit;overflow-wrap:anywhere}
.index{display:none}
.method{font-weight:700;font-size:.72rem;letter-spacing:.02em}
.get{color:var(--get)}.post{color:var(--post)}.put,.patch{color:var(--put)}.delete{color:var(--delete)}
main{padding:1.5rem 3rem 6rem;max-width:68rem;min-width:0}
h1{font-size:2rem;line-height:1.2;margin:.25rem 0 1rem}
main>section>h2{font-size:1.5rem;margin:3.5rem 0 .5rem;padding-bottom:.4rem;border-bottom:2px solid var(--line)}
main>section:first-of-type>h2{margin-top:1.5rem}
article{padding:.75rem 0 1.75rem;border-bottom:1px solid var(--line)}
section>article:last-child{border-bottom:0}
h3{font-size:1.15rem;margin:1rem 0 .25rem}h3 .method{font-size:.85rem}
h4{font-size:1rem;margin:1.5rem 0 .25rem}
.anchor{color:var(--quiet);text-decoration:none;opacity:0;padding:0 .3em}
h3:hover .anchor,.anchor:focus{opacity:1}
:target>h3,tr:target{background:var(--mark)}
.access{color:var(--quiet);border:1px solid var(--line);border-radius:1rem;padding:.05rem .6rem;font-size:.8rem;white-space:nowrap}
pre{background:var(--code);border:1px solid var(--line);border-radius:6px;padding:.8rem 1rem;margin:.75rem 0;overflow:auto;font-size:.88rem;line-height:1.5}
pre code{font-size:inherit;overflow-wrap:normal}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.35rem 1.25rem;margin:1rem 0}dt{font-weight:600}dd{margin:0}
table{border-collapse:collapse;width:100%;font-size:.92rem;margin:.25rem 0 .75rem}
th,td{text-align:left;font-weight:400;vertical-align:top;border-top:1px solid var(--line);padding:.45rem 1rem .45rem 0}
thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
tbody tr:first-child>*{border-top:0}
.fields th{width:36%}.fields .type{width:20%;color:var(--quiet);font-size:.85rem}
.codes th{width:4rem;color:var(--quiet)}.codes td a{display:inline-block;margin-right:.5rem;text-decoration:none}
.problems th{width:36%}.problems small{display:block}.problems strong{font-weight:600}
.parents{color:var(--quiet)}
.required{color:var(--delete)}
.or{color:var(--quiet);margin:.25rem 0}
details{border:1px solid var(--line);border-radius:6px;padding:0 1rem;margin:.6rem 0}
summary{cursor:pointer;padding:.5rem 0}
.status{font-weight:700;font-size:.9rem;margin-right:.4rem}
@media(max-width:60rem){
body{display:block}
nav{position:static;height:auto;padding:1rem;border:0;border-bottom:1px solid var(--line)}
nav ul{display:none}nav h2{display:inline-block;margin:.2rem .9rem .2rem 0;font-weight:400}
nav h2 a,nav p a{text-decoration:underline}nav p{margin:.4rem 0 0}
main{padding:1rem 1rem 4rem}
.index{display:block;font-size:.9rem;margin:.5rem 0 1rem}.index li a{padding:.3rem 0}
h1{font-size:1.6rem}
dl{display:block}dd{margin:0 0 .6rem}
.fields tr,.problems tr,.fields th,.fields td,.problems th,.problems td{display:block;width:auto;border:0;padding:.1rem 0}
.fields tr,.problems tr{border-top:1px solid var(--line);padding:.5rem 0}
.fields td:empty{display:none}.fields td.type{width:auto}
}
`
