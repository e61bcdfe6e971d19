"""What the generated worlds consist of: six kinds of things, what they are called, and how a passage opens on them.

What a question calls a thing, its ``nouns`` and the first half of each pair in ``traits``, occurs nowhere else in any passage: a test checks it.
"""
from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """A kind of thing: what a question may call it, what a veiled passage calls it, (trait, the same in words no question uses) pairs, names."""

    nouns: tuple[str, ...]
    generic: str
    be: str
    names: tuple[str, ...]
    traits: tuple[tuple[str, str], ...]
    settings: tuple[str, ...]
    asides: tuple[str, ...]


GIVEN = ("Aveth", "Bronwe", "Caldo", "Dervin", "Eskavel", "Fennora", "Gwillo", "Heddra", "Ildra", "Jorvan", "Kestra", "Lowenn", "Mirabet", "Nolwe", "Orsa",
         "Perrick", "Quilla", "Rosmer", "Sunniv", "Tamsel", "Ulvar", "Vennoc", "Wendrel", "Ysmere", "Zephra", "Addit", "Brisca", "Corvath", "Dwynne",
         "Elmett")
# a stem is one of each: onset, vowel, middle, vowel, ending
ONSETS = ("b", "bl", "br", "ch", "d", "dr", "f", "fl", "g", "gl", "gr", "h", "j", "k", "kr", "l", "m", "n", "p", "pl", "pr", "r", "s", "sh", "sk",
          "st", "t", "th", "tr", "v", "w", "y", "z")
VOWELS = ("a", "e", "i", "o", "u")
MIDDLES = ("lv", "nv", "lbr", "rdr", "stv", "zv", "mv", "dv", "vr", "lvr", "nthr", "zr", "rgl", "ldr")
ENDINGS = ("sk", "lm", "n", "l", "m", "ck", "x", "sh", "ve", "th")
THIRD = ("ogg", "unt", "irp", "uzz", "ebb", "omp", "ulk", "axt", "ivv", "erd")  # a third syllable, in worlds of more than 49,000 passages
_TAKEN = """
    badvel belvin boldrin bolvin borglum bovril burglin chaldron chevron children delbruck delval delvin doldrum dolven fordrive galbreth galvan
    galven galvin gelvin gilbreth gilvin goldrick gorglin granvil hardrick heldreth hevrin hevron hezron hildreth hilvan holdren jonval kelvin lavrock
    levron malvan malvin manvel meldrum melvin milbrath mildren mildrum moldrem murdrum nazran panvel podvin poldrack prizren pulvil sevran sheldrick
    shelvin silvan sovran valval vilven volvox vulval waldram waldren waldron wildrick wolven wolvin wolvish yeldrin yeldrock
"""
TAKEN = frozenset(_TAKEN.split())  # combinations that are words, people or places already

VOUCHED = ("by all accounts", "without any doubt", "in everybody's eyes")

KINDS: dict[str, Kind] = {
    "person": Kind(
        nouns=("painter", "weaver", "fiddler", "surgeon", "botanist", "glazier", "potter", "clockmaker", "bookbinder", "lawyer"),
        generic="local figure", be="was",
        names=("{g} {s}",),
        traits=(("stooping", "bent like a question mark"), ("red-haired", "whose head could be made out across a field like a fox"),
                ("short-sighted", "who bumped into furniture without spectacles"), ("soft-spoken", "to whom listeners had to lean close"),
                ("sharp-tongued", "whose remarks left marks for weeks"), ("barefoot", "who never owned a pair of shoes"),
                ("hook-nosed", "whose profile was a gift to cartoonists"), ("sleepless", "who walked about until dawn every day"),
                ("half-deaf", "who missed most of what was said at table"), ("penniless", "who never had a coin to spare"),
                ("seafaring", "who had been on deck until the age of thirty"), ("orphaned", "raised by an aunt after losing both parents"),
                ("stammering", "whose speech came out in pieces"), ("superstitious", "who would not walk under a ladder"),
                ("forgetful", "who lost hats by the dozen"), ("bee-keeping", "with six hives behind the kitchen")),
        settings=(", remembered more for stubbornness than for talent", ", talked of in several diaries of the period",
                  ", whose portrait has not survived", ", and the subject of many a story told after supper", ", known to everybody within a day's ride",
                  ", about whose early life little is recorded"),
        asides=("{It} liked to be painted with a dog, although none is on record.",
                "A drawer of {its} unpaid bills was sold at auction for a handsome sum.",
                "In later life {it} grew medlars and quarrelled with customs officers.",
                "{It} is said to have laughed only twice, both times at funerals.",
                "A kind of bread roll is named after {them}, for reasons nobody can explain.",
                "{It} left a trunk of letters, most of them about the weather.")),
    "town": Kind(
        nouns=("port", "village", "market town", "mining town", "spa", "garrison", "harbour", "hamlet", "resort", "borough"),
        generic="place", be="is",
        names=("Upper {s}", "{s} Hythe", "Nether {s}", "{s} Cross", "{s} Ferry", "{s} Quay"),
        traits=(("copper-roofed", "whose housetops have gone green with age"), ("walled", "enclosed by old ramparts"),
                ("flood-prone", "where every cellar gets wet in spring"), ("windswept", "in which washing is never still"),
                ("salt-trading", "that grew wealthy on white crystals from the pans"), ("sleepy", "where nothing stirs before noon"),
                ("fogbound", "that cannot see its own chimneys from October to March"), ("thatched", "sheltering under bundles of straw"),
                ("steep", "where carts need a brake going down and a second pair of oxen going up"),
                ("horse-breeding", "known for its mares and stallions"), ("twin-spired", "with a pair of pointed steeples"),
                ("cheese-making", "that smells of curds and rennet"), ("canal-laced", "cut up by channels in lieu of lanes"),
                ("half-ruined", "where every second wall has fallen"), ("lamplit", "bright with oil flames after dark"),
                ("orchard-ringed", "set among apple and pear trees")),
        settings=(", two days on foot from the capital", ", with fewer than three thousand people", ", much visited by students of old customs",
                  ", at the end of a single-track railway", ", which has changed hands five times in war", ", seldom found in guides"),
        asides=("A local cake of hazelnuts and pepper is an acquired taste.", "Storks nest on the customs shed, and it is thought rude to count them.",
                "The only newspaper, a weekly, is mostly read for its notices of lost umbrellas.",
                "A brass band practises on Thursdays, and everybody else goes for a walk.",
                "Strangers are told the tale of a bishop who was mistaken for a thief.", "The autumn fair lasts three days and ends in a tug of war.")),
    "river": Kind(
        nouns=("river", "stream", "brook", "creek", "torrent", "beck", "rivulet", "tributary"),
        generic="watercourse", be="is",
        names=("the {s}", "the Lesser {s}", "the Black {s}"),
        traits=(("brown-watered", "the colour of strong tea"), ("ice-cold", "that numbs a hand even at midsummer"),
                ("slow-moving", "on which a dropped leaf hardly travels"), ("trout-filled", "teeming with speckled fish"),
                ("navigable", "that barges can use from end to end"), ("winding", "that never keeps straight for long"),
                ("shallow", "that comes no higher than a knee"), ("reed-choked", "overgrown with tall rushes"),
                ("mill-driving", "that turns a dozen wheels for grinding corn"), ("willow-shaded", "under the drooping branches of sallows"),
                ("ochre-stained", "tinted by rusty clay"), ("gold-bearing", "in the gravel of which people still pan for yellow grains"),
                ("underground", "that runs unseen for miles"), ("noisy", "that can be heard from far off"),
                ("otter-haunted", "where sleek swimmers come out at dusk"), ("fast-flowing", "that sweeps sheep off their feet")),
        settings=(", ninety kilometres in all", ", well known to anglers", ", and the northern limit of the grape", ", once the edge of two kingdoms",
                  ", in a valley of small farms", ", frozen over in hard winters"),
        asides=("Grey wagtails breed along the higher reaches, and herons wait lower down.", "A cellar by the lower bridge smells of somebody's onions.",
                "A ferryman who refused to carry lawyers is the subject of a song.", "In dry summers the posts of a Bronze Age jetty come to light.",
                "Children float candles on it on the last evening of August.", "Anglers complain of the ducks, and the ducks have not replied.")),
    "firm": Kind(
        nouns=("glassworks", "foundry", "brewery", "tannery", "ropeyard", "pottery", "papermill", "shipyard", "sawmill", "printworks"),
        generic="business", be="was",
        names=("{s} Brothers", "the House of {s}", "{s} and Company", "{s} and Daughters", "the {s} Partnership"),
        traits=(("family-run", "passed on from parents to children"), ("debt-ridden", "that owed money to everybody"),
                ("night-working", "whose fires burned from dusk to dawn"), ("steam-powered", "where a boiler moved every belt"),
                ("cooperative", "owned in equal shares by its own hands"), ("short-lived", "that lasted barely ten years"),
                ("secretive", "which let no stranger through the gate"), ("unlucky", "that burnt down twice"), ("tax-exempt", "freed from every duty"),
                ("brick-built", "lodged in blocks of baked clay"), ("exporting", "that sold nearly everything abroad"),
                ("strike-torn", "whose hands laid down their tools every other year"), ("women-led", "in which wives and sisters gave the orders"),
                ("prize-winning", "with a wall of medals"), ("thrifty", "that threw nothing away"), ("overstaffed", "with more hands than benches")),
        settings=(", and the largest employer for miles around", ", still named with respect by collectors", ", whose account ledgers fill forty boxes",
                  ", sold off in the end to a bank", ", at its height in the days of the canals", ", never quite out of trouble with the law"),
        asides=("Hands drew their wages on Saturdays, partly in soap.", "A museum keeps one of the delivery carts, with its lantern and whip.",
                "A dead partner's umbrella stood in the office for two decades.", "Its seal, a hedgehog, was copied by forgers as far away as the coast.",
                "Old hands held a yearly dinner at which nobody was allowed to talk shop.", "A cat was entered in the payroll as keeper of the stores.")),
    "hall": Kind(
        nouns=("theatre", "granary", "library", "courthouse", "lighthouse", "hospital", "chapel", "armoury", "observatory", "school"),
        generic="building", be="is",
        names=("{s} Hall", "{s} House", "{s} Court", "{s} Lodge", "{s} Grange"),
        traits=(("octagonal", "with eight equal sides"), ("leaning", "that stands out of true like a tired man"),
                ("marble-floored", "paved in polished white stone"), ("haunted", "where steps are heard after midnight with nobody there"),
                ("unheated", "in which breath shows until May"), ("ivy-covered", "hidden behind climbing leaves"), ("half-timbered", "framed in dark oak"),
                ("windowless", "that gets no daylight at all"), ("gilded", "overlaid with thin yellow leaf"),
                ("mirror-lined", "where every face is thrown back from the sides"), ("moated", "with a ring of water around it"),
                ("domed", "rounded at the top like an egg"), ("earthquake-proof", "that no tremor has ever cracked"),
                ("whitewashed", "limed afresh each Easter"), ("draughty", "in which candles never stay alight"), ("slate-hung", "clad in grey tiles")),
        settings=(", open to visitors on weekdays", ", restored after a long quarrel over money", ", and a favourite subject of postcards",
                  ", now protected by law", ", larger inside than it seems", ", with a garden that few people know"),
        asides=("Swifts nest under the eaves and are counted every June.", "A guide with a wooden leg showed people round for four decades.",
                "The cellar holds a model of the whole made out of matches.", "Its clock has been eleven minutes late for as long as anyone can remember.",
                "Couples have their pictures taken on the front steps.", "During the war potatoes were stored in it up to the windowsills.")),
    "book": Kind(
        nouns=("novel", "ballad", "comedy", "tragedy", "romance", "fable", "epic", "thriller", "saga", "operetta"),
        generic="volume", be="is",
        names=("The Lamps of {s}", "The Road to {s}", "{s} in Winter", "Songs for {s}", "Farewell {s}", "Breakfast with {s}"),
        traits=(("unfinished", "that breaks off in the middle of a sentence"), ("banned", "that the censors locked away"),
                ("anonymous", "that came out without an author on the cover"), ("rhymed", "in couplets from start to end"),
                ("gilt-edged", "with pages that shine along the rim"), ("pocket-sized", "small enough for a waistcoat"),
                ("illustrated", "with woodcuts on every second page"), ("misprinted", "riddled with errors by the compositor"),
                ("leather-bound", "in covers of calfskin"), ("bestselling", "that was gone from the shops within a week"),
                ("satirical", "that mocks everybody in office"), ("coded", "in a cipher"), ("bilingual", "in a pair of languages on facing pages"),
                ("gloomy", "that leaves no reader cheerful"), ("cheap", "to be had for less than a loaf"),
                ("plagiarised", "stolen almost word by word from an older writer")),
        settings=(", read aloud at many firesides", ", seldom out of print since", ", which critics never liked", ", twice put to music",
                  ", and a common reward in spelling contests", ", written in eleven weeks for a wager"),
        asides=("Schoolchildren know one passage by heart and forget it within a year.", "A misquotation from it stands over the gate of a cemetery.",
                "The printer is said to have wept while pulling the last page.", "Copies with the wrong map at the back fetch a high price.",
                "It was translated three times, once by somebody who did not know the language.", "An envious critic called it a good cure for sleep.")),
}
