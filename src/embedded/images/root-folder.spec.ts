import { describe, expect, it } from 'vitest'
import { parseLoaderList } from './root-folder.js'

describe('parseLoaderList', () => {
  it('libraries -> their paths; the kernel page and the loader itself are none', () => {
    const printed = [
      '\tlinux-vdso.so.1 (0x00007ffd)',
      '\tlibcrypt.so.1 => /root/usr/lib/x86_64-linux-gnu/libcrypt.so.1 (0x00007f1)',
      '\tlibc.so.6 => /root/usr/lib/x86_64-linux-gnu/libc.so.6 (0x00007f2)',
      '\t/lib64/ld-linux-x86-64.so.2 => /root/usr/lib64/ld-linux-x86-64.so.2 (0x00007f3)',
      '\t/lib64/ld-linux-x86-64.so.2 (0x00007f4)',
    ].join('\n')
    expect(parseLoaderList(printed)).toEqual([
      '/root/usr/lib/x86_64-linux-gnu/libcrypt.so.1',
      '/root/usr/lib/x86_64-linux-gnu/libc.so.6',
      '/root/usr/lib64/ld-linux-x86-64.so.2',
    ])
  })
})
