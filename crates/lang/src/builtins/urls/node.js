// Prints the parts that the URL parser of Node gives for each URL: one JSON list a line, of the URL,
// host, path, scheme and value of the query key `q`; or the URL and null if the parser refuses it.
const hosts = [
  "example.com", "EXAMPLE.com", "example.com.", "example.com..", ".example.com", "a..b", "ex%61mple.com",
  "example.com:443", "example.com:80", "example.com:", "example.com:0", "example.com:65535", "example.com:65536",
  "example.com:x", "user@example.com", "user:pass@example.com", "example.com@evil.net", "evil.net:80@example.com",
  "a@b@example.com", "@example.com", ":@example.com", "evil.net%40example.com", "evil.net%2f.example.com",
  "evil.net%5c.example.com", "evil.net%00.example.com", "evil.net%23.example.com", "evil.net%3f.example.com",
  "evil.net%20.example.com", "evil.net\u0000.example.com", "evil.net\u0001.example.com", "evil.net\u007f.example.com",
  "evil.net .example.com", "evil.net<.example.com", "evil.net>.example.com", "evil.net|.example.com",
  "evil.net^.example.com", "evil.net[.example.com", "evil.net].example.com", "evil.net\".example.com",
  "evil.net`.example.com", "evil.net{.example.com", "evil.net}.example.com", "evil.net%.example.com",
  "evil.net%zz.example.com", "evil.net／.example.com", "evil.net？.example.com", "evil.net＃.example.com",
  "evil.net＠example.com", "evil.net：80", "evil.net＼.example.com", "evil.net℀.example.com", "evil.net\\.example.com",
  "evil.net\t.example.com", "evil.net\n.example.com", "ex\u00adample.com", "ex\u200bample.com", "ex\u2060ample.com",
  "ex\u200dample.com", "ex\u200cample.com", "\ufeffexample.com", "ＥＸＡＭＰＬＥ.com", "example。com", "example．com",
  "example｡com", "exämple.com", "EXÄMPLE.com", "xn--exmple-cua.com", "XN--EXMPLE-CUA.com", "xn--", "xn--a",
  "faß.de", "fass.de", "ﬁle.com", "ⓔxample.com", "K.com", "例え.jp", "مثال.إختبار", "אתר.קום", "a_b.example.com",
  "-a.example.com", "a-.example.com", "a--b.example.com", "*.example.com", "a!b.com", "a$b.com", "a&b.com", "a'b.com",
  "a(b).com", "a+b.com", "a,b.com", "a;b.com", "a=b.com", "a~b.com", "127.0.0.1", "127.1", "127.0.1", "127.0.0.1.",
  "127.0.0.1..", "2130706433", "2130706433.", "0x7f000001", "0X7F.1", "0x7f.0x0.0x0.0x1", "0x", "0177.0.0.1",
  "017700000001", "0", "00000", "08.0.0.1", "256.0.0.1", "1.256", "1.2.3.256", "1.2.3.4.5", "4294967295", "4294967296",
  "0xffffffff", "0x100000000", "1.65536", "1.16777215", "１２７.0.0.1", "169。254。169。254", "①②⑦.0.0.1", "127.0.0.%31",
  "127.0.0.1:8080", "user@127.0.0.1", "127.0.0.1.example.com", "example.127", "example.0x7f", "a.08", "2852039166",
  "0xA9FEA9FE", "loc%61lhost", "LOCALHOST", "localhost.", "[::1]", "[::1]:80", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]", "[::127.0.0.1]", "[FD00::1]", "[fe80::1%25eth0]", "[fe80::1%eth0]", "[::1", "::1", "[::1]x", "[]",
  "[:::1]", "[1::2::3]", "[::1.2.3]", "[::1.2.3.4.5]", "[::01.2.3.4]", "[2001:db8::1]", "[2001:DB8:0:0:0:0:0:1]",
  "[64:ff9b::7f00:1]", "[1:2:3:4:5:6:7:8]", "[1:2:3:4:5:6:7]", "[v1.a]", "[::%31]", "", " ", "/", "//example.com",
];
const urls = [
  ...hosts.map((host) => "http://" + host + "/p"),
  "https:///example.com/x", "https:\\\\example.com\\x", "https:/example.com/x", "https:////example.com", "//example.com",
  "example.com/x", "/x", "", " https://example.com/ ", "\u0001\u001fhttps://example.com", "\u00a0https://example.com",
  "\u3000https://example.com", "ht\ntps://exa\tmple.com/a\rb", "HTTPS://example.com", "hTtP:\\\\example.com", "1http://example.com",
  "ht tp://example.com", "http//example.com", "http:", "http://", "http://?q=1", "http://#", "https://example.com?q=1",
  "https://example.com#?q=1", "https://example.com?https://other.net/", "https://evil.net#@example.com",
  "https://evil.net?@example.com", "https://evil.net/@example.com", "javascript:alert(1)//example.com",
  "javascript://example.com/%0aalert(1)", "data:text/html,x", "mailto:a@example.com", "ftp://example.com/x",
  "ftp://127.1/", "ws://example.com/x", "wss://0x7f000001/", "file:///etc/passwd", "file://example.com/x",
  "file://localhost/x", "file:c:/x", "file:///c|/x", "postgres://DB.Internal:5432/x", "postgres://127.1/x",
  "postgres://０x7f/x", "foo://ex%61mple.com/x", "foo://example.com./x", "foo://[::1]/x", "foo://a b/x", "foo://a^b/x",
  "foo:example.com", "foo:/example.com/x", "blob:https://example.com/x", "about:blank", "urn:a:b", "tel:1",
  "https://a.b/public/../admin", "https://a.b/public/%2e%2E/admin", "https://a.b/%61dmin", "https://a.b/..%2fadmin",
  "https://a.b/x%5cy", "https://a.b/x%00y", "https://a.b/%ff", "https://a.b/a//b", "https://a.b/.", "https://a.b/a/./b",
  "https://a.b/../..", "https://a.b/%E4%BD%A0", "https://a.b/你", "https://a.b\\c\\..\\d", "https://a.b/a b", "https://a.b/%2525",
  "https://a.b/;x=1", "https://a.b/a?q=a+b%21", "https://a.b/?q=1&q=2", "https://a.b/?q", "https://a.b/?q=", "https://a.b/?%71=1",
  "https://a.b/?Q=1", "https://a.b/?q=%E4%BD%A0", "https://a.b/?q=%ff", "https://a.b/?a=1&&q=2", "https://a.b/?q=a=b",
  "https://a.b/?q=a;b", "https://a.b/?q=1#q=2", "https://a.b/#?q=1", "mailto:a@b.c?q=x", "foo:bar?q=1",
];
for (const text of urls) {
  let url = null;
  try { url = new URL(text); } catch { }
  console.log(JSON.stringify(url ? [text, url.hostname, url.pathname, url.protocol, url.searchParams.get("q")] : [text, null]));
}
