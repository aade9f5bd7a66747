import { describe, expect, it } from 'vitest'
import { imageSchema, nameSchema, withTag } from './name.js'

const ok = (schema: { safeParse(value: unknown): { success: boolean } }, value: unknown) => schema.safeParse(value).success

describe('nameSchema', () => {
  it.each(['a', 'web', 'web-2', 'w3b', `a${'b'.repeat(62)}`])('%s -> accepted', (name) => expect(ok(nameSchema, name)).toBe(true))
  it.each(['', 'Web', '2web', '-web', 'web-', 'we_b', 'we.b', 'wéb', 'web\n', ' web', `a${'b'.repeat(63)}`, 'a\0b', 7, null])(
    '%j -> refused',
    (name) => expect(ok(nameSchema, name)).toBe(false),
  )
})

describe('imageSchema', () => {
  const digest = `sha256:${'0123456789abcdef'.repeat(4)}`
  it.each([
    'nginx',
    'nginx:1.28-alpine',
    'library/nginx',
    'registry.example/shop/web:v1.2.3_rc',
    'localhost:5000/web',
    'registry.example.com:443/a/b/c:latest',
    `shop/web@${digest}`,
    `shop/web:1@${digest}`,
    'a__b/c--d.e_f',
  ])('%s -> accepted', (image) => expect(ok(imageSchema, image)).toBe(true))
  it.each([
    '',
    'Nginx',
    'nginx:',
    'nginx:a b',
    'nginx:$(id)',
    'nginx;rm',
    ':latest',
    '/nginx',
    'nginx/',
    'a//b',
    'https://registry.example/shop/web',
    'shop/web@sha256:abc',
    `shop/web@${digest}0`,
    'shop/web@latest',
    'we b',
    'nginx\0',
    'nginx\n',
    `${'a/'.repeat(300)}b`,
    `nginx:${'t'.repeat(129)}`,
    7,
  ])('%j -> refused', (image) => expect(ok(imageSchema, image)).toBe(false))

  it.each([`${'a'.repeat(50_000)}!`, `${'a.'.repeat(25_000)}!`, `${'a-'.repeat(25_000)}!`, `${'-'.repeat(50_000)}`, `a${'-'.repeat(50_000)}`])(
    'a hostile text of 50,000 characters -> refused without backtracking',
    (image) => {
      const before = process.cpuUsage()
      expect(ok(imageSchema, image)).toBe(false)
      expect(process.cpuUsage(before).user).toBeLessThan(1_000_000) // microseconds
    },
  )
})

describe('withTag', () => {
  const digest = `sha256:${'0'.repeat(64)}`
  it.each([
    ['nginx', 'nginx:latest'],
    ['nginx:1', 'nginx:1'],
    ['localhost:5000/web', 'localhost:5000/web:latest'],
    ['localhost:5000/web:2', 'localhost:5000/web:2'],
    [`web@${digest}`, `web@${digest}`],
    [`web:1@${digest}`, `web:1@${digest}`],
  ])('%s -> %s', (image, expected) => expect(withTag(image)).toBe(expected))
})
