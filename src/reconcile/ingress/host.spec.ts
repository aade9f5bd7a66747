import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalHost, canonicalHostPattern, HostError } from './host.js'

const a63 = 'a'.repeat(63)

/** What canonicalHost makes of a text, or what it says. */
function outcome(given: string): string {
  try {
    return canonicalHost(given)
  } catch (error) {
    if (error instanceof HostError) return `HostError: ${error.message}`
    throw error
  }
}

describe('canonicalHost', () => {
  it.each([
    ['shop.example.test', 'shop.example.test'],
    [' x.test', 'x.test'],
    ['\tx.test\n', 'x.test'],
    ['Shop.Example.TEST', 'shop.example.test'],
    ['https://Shop.Example.test/', 'shop.example.test'],
    ['HTTP://shop.example.test', 'shop.example.test'],
    ['shop.example.test/', 'shop.example.test'],
    ['shop.example.test.', 'shop.example.test'],
    ['https://shop.example.test./', 'shop.example.test'],
    ['münchen.example', 'xn--mnchen-3ya.example'],
    ['MÜNCHEN.example', 'xn--mnchen-3ya.example'],
    ['mu\u0308nchen.example', 'xn--mnchen-3ya.example'],
    ['xn--mnchen-3ya.example', 'xn--mnchen-3ya.example'],
    ['faß.example', 'xn--fa-hia.example'],
    ['例え。テスト', 'xn--r8jz45g.xn--zckzah'],
    ['shop.example.test。', 'shop.example.test'],
    ['ｓｈｏｐ.example', 'shop.example'],
    ['*.x.test', '*.x.test'],
    ['*.Münster.x.test', '*.xn--mnster-3ya.x.test'],
    ['https://*.x.test/', '*.x.test'],
    ['localhost', 'localhost'],
    ['app.localhost', 'app.localhost'],
    ['intranet', 'intranet'],
    ['a--b.test', 'a--b.test'],
    ['1and1.example', '1and1.example'],
    ['1.2.3.4.example', '1.2.3.4.example'],
    [`${a63}.test`, `${a63}.test`],
    [`${a63}.${a63}.${a63}.${'b'.repeat(61)}`, `${a63}.${a63}.${a63}.${'b'.repeat(61)}`],
  ])('%j -> %s', (given, canonical) => {
    expect(outcome(given)).toBe(canonical)
    expect(canonical).toMatch(canonicalHostPattern)
  })

  it.each([
    ['', /is empty/],
    ['   ', /is empty/],
    ['https://', /is empty/],
    ['.', /is empty/],
    ['shop.example.test:3000/api', /has a path.*a field of its own/],
    ['https://shop.example.test/api', /has a path/],
    ['shop.example.test//', /has a path/],
    ['/shop', /has a path/],
    ['shop\\example', /has a path/],
    ['shop.example.test:3000', /has a port.*a field of its own/],
    ['https://shop.example.test:443/', /has a port/],
    ['shop.example.test?x', /has a query/],
    ['shop.example.test#x', /has a query or fragment/],
    ['me@shop.example.test', /names a user/],
    ['ftp://shop.example.test', /has the scheme ftp/],
    ['shop example.test', /holds a space/],
    ['a.test, b.test', /holds a space/],
    ['shop.\u200bexample.test', /invisible/],
    ['sh\u00adop.test', /invisible/],
    ['shop\0.test', /invisible/],
    ['shop%2eexample.test', /percent-encoded/],
    ['%73hop.test', /percent-encoded/],
    ['my_app.test', /underscore/],
    ['_acme-challenge.x.test', /underscore/],
    ['192.0.2.1', /IP address/],
    ['192.0.2.1.', /IP address/],
    ['http://192.0.2.1/', /IP address/],
    ['0x7f.1', /IP address/],
    ['2130706433', /IP address/],
    ['１９２.0.2.1', /IP address/],
    ['::1', /IP address/],
    ['[::1]', /IP address/],
    ['2001:db8::1', /IP address/],
    ['[2001:db8::1]:443', /IP address/],
    ['192.0.2.999', /number/],
    ['shop.example.7', /number/],
    ['*', /\* elsewhere/],
    ['*.', /\* elsewhere/],
    ['*.test', /wildcard for all of \.test/],
    ['*.localhost', /wildcard for all of/],
    ['a.*.test', /\* elsewhere/],
    ['*a.test', /\* elsewhere/],
    ['a*.test', /\* elsewhere/],
    ['*.*.x.test', /\* elsewhere/],
    ['**.x.test', /\* elsewhere/],
    ['*.192.0.2.1', /IP address/],
    ['shop..test', /empty label/],
    ['shop.test..', /empty label/],
    ['.shop.test', /empty label/],
    ['-shop.test', /label -shop/],
    ['shop-.test', /label shop-/],
    ['shop.-', /label -/],
    [`a${a63}.test`, /label of 64 characters/],
    [`${a63}.${a63}.${a63}.${'b'.repeat(62)}`, /254 characters/],
    ['xn--a', /no punycode/],
    ['xn--99999999.test', /no punycode/],
    ['xn--shop-.test', /no punycode/],
    ['*.xn--.test', /no punycode/],
    ['xn---o6d', /no punycode/],
    ['-漢.test', /no punycode/],
    ['shop!.test', /label shop!/],
    ["shop'.test", /label/],
    ['sh{op}.test', /label|no host name/],
    ['shop<b>.test', /no host name/],
    ['℀.test', /no host name|path/],
    ['\ud800.test', /no host name/],
  ])('%j -> refused: %s', (given, message) => {
    expect(outcome(given)).toMatch(/^HostError: /)
    expect(outcome(given)).toMatch(message)
  })

  const label = fc.stringMatching(/^(xn--)?[A-Za-z0-9äöß漢.。 *_:/%@-]{0,20}$/)
  const anyText = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: 'grapheme' }),
    fc.domain(),
    fc.array(label, { maxLength: 5 }).map((l) => l.join('.')),
  )

  it('any text -> a canonical host or a HostError', () => {
    fc.assert(
      fc.property(anyText, (given) => {
        const found = outcome(given)
        if (found.startsWith('HostError: ')) return
        expect(found).toMatch(canonicalHostPattern)
        expect(found.length).toBeLessThanOrEqual(253)
      }),
      { numRuns: 2_000 },
    )
  })

  it('canonical host -> itself', () => {
    fc.assert(
      fc.property(anyText, (given) => {
        const found = outcome(given)
        if (!found.startsWith('HostError: ')) expect(canonicalHost(found)).toBe(found)
      }),
      { numRuns: 2_000 },
    )
  })

  it('name with another case, a scheme, spaces or a dot -> the same host', () => {
    fc.assert(
      fc.property(fc.domain(), (name) => {
        const found = outcome(name)
        if (found.startsWith('HostError: ')) return
        for (const other of [name.toUpperCase(), ` ${name} `, `https://${name}/`, `${name}.`]) expect(outcome(other)).toBe(found)
      }),
    )
  })
})
