import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renderedDocument } from '../../../src/http/answers/rendered-document.ts'
import { startHostFor } from '../../helpers/test-host.ts'

function render(file: string, text: string): string {
  const { body } = renderedDocument({ file, title: 'A & B', content: new TextEncoder().encode(text) })
  const [head, ...rest] = String(body).split('</title>\n')
  assert.equal(head, '<!doctype html>\n<meta charset="utf-8">\n<title>A &amp; B')
  return rest.join('').trimEnd()
}

test('what acts is taken out of Markdown and HTML', () => {
  const cases: [string, string][] = [
    ['# T\n\n<script>steal()</script>', '<h1>T</h1>'],
    ['<img src="https://x.y/z.png" onerror="steal()">', '<img src="https://x.y/z.png" />'],
    ['[a](javascript:steal\\(\\))', '<p><a rel="noopener noreferrer">a</a></p>'],
    ['[a](JaVaScRiPt:steal)', '<p><a rel="noopener noreferrer">a</a></p>'],
    ['<a href="&#106;avascript:steal()">a</a>', '<p><a rel="noopener noreferrer">a</a></p>'],
    ['<iframe src="/api/plugins"></iframe>', ''],
    ['<form action="/x"><input name="a"></form>', '<input type="checkbox" disabled />'],
    ['<svg><script>steal()</script></svg>', '<p></p>'],
    ['<style>body { display: none }</style>', ''],
    ['<p style="position:fixed">a</p>', '<p>a</p>'],
    ['<meta http-equiv="refresh" content="0;url=https://x.y">', ''],
    ['<base href="https://x.y">', ''],
  ]
  for (const [text, html] of cases) {
    assert.equal(render('README.md', text), html, text)
    if (text.startsWith('<')) assert.ok(!render('page.html', text).includes('steal'), text)
  }
})

test('links to files beside a document lead to where those documents are served', () => {
  const links = {
    'setup.md': 'doc?file=docs%2Fsetup.md&amp;render=html',
    '../README.md#top': 'doc?file=README.md&amp;render=html#top',
    './a%20b.md': 'doc?file=docs%2Fa%20b.md&amp;render=html',
    '#part': '#part',
    'https://x.y/z': 'https://x.y/z',
    'mailto:a@b.c': 'mailto:a@b.c',
  }
  for (const [link, href] of Object.entries(links)) {
    assert.equal(
      render('docs/index.md', `[a](${link})`),
      `<p><a rel="noopener noreferrer" href="${href}">a</a></p>`,
    )
  }
  assert.equal(
    render('docs/index.md', '![a](img/b.png)'),
    '<p><img alt="a" src="doc?file=docs%2Fimg%2Fb.png" /></p>',
  )
})

test('a text that is neither is shown as it is', () => {
  assert.equal(render('notes.txt', '<b>&\'"'), '<pre>&lt;b&gt;&amp;&#39;&quot;</pre>')
})

test('a document that takes too long, or nests too deeply, is shown as its text', () => {
  // The first keeps the parser busy for more than a minute, the second overflows the stack.
  for (const text of ['_a'.repeat(256 * 1024), '>'.repeat(64 * 1024)]) {
    assert.match(render('README.md', text), /^<pre>/)
  }
})

test('what a browser could run from the origin of the host is served as text', async (context) => {
  const text = 'text/plain; charset=utf-8'
  const types: Record<string, string> = {
    ...Object.fromEntries(
      [
        'evil.js',
        'evil.mjs',
        'evil.cjs',
        'evil.html',
        'evil.HTM',
        'evil.xhtml',
        'evil.svg',
        'evil.xml',
        'evil.xsl',
      ].map((file) => [file, text]),
    ),
    'evil.css': text,
    'evil.svgz': text,
    'notes.txt': text,
    'data.csv': 'text/csv; charset=utf-8',
    'data.json': 'application/json; charset=utf-8',
    'read.md': 'text/markdown; charset=utf-8',
    'image.png': 'image/png',
    'manual.pdf': 'application/pdf',
    'evil.swf': 'application/octet-stream',
    'evil.wasm': 'application/octet-stream',
    'evil.unknown': 'application/octet-stream',
  }
  const files = Object.fromEntries(Object.keys(types).map((file) => [file, 'alert(1)']))
  const docs = Object.keys(types).map((file) => ({ title: file, file }))
  const lua = 'Plugin:new("pages")'
  const host = await startHostFor(context, { plugins: [{ id: 'pages', lua, files, manifest: { docs } }] })
  assert.equal(
    (await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/pages' } })).status,
    201,
  )
  const served: Record<string, string | null> = {}
  for (const file of Object.keys(types)) {
    const answer = await fetch(`${host.url}/api/plugins/pages/doc?file=${file}`)
    assert.equal(await answer.text(), 'alert(1)')
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
    served[file] = answer.headers.get('content-type')
  }
  assert.deepEqual(served, types)
})
