import unittest

from notes import Notes


class NotesTest(unittest.TestCase):
    def test_keeps_the_order(self):
        notes = Notes(["first"])
        notes.add("second")
        self.assertLess(notes.page().index("first"), notes.page().index("second"))

    def test_escapes_what_it_shows(self):
        notes = Notes(["<b>&"])
        self.assertIn("&lt;b&gt;&amp;", notes.page())

    def test_refuses_an_empty_note(self):
        notes = Notes()
        with self.assertRaises(ValueError):
            notes.add("  ")
        self.assertEqual(len(notes), 0)


if __name__ == "__main__":
    unittest.main()
