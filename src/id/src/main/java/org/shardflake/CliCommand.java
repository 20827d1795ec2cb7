/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import java.io.Serial;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A command with its arguments, as advice mentions it. The constants are all forms that the router and the engines can name; words in capitals
 * are places for values. A test of the command line parses each of them.
 */
public final class CliCommand implements Serializable {

    public static final CliCommand ADOPT_PLAN = form("adopt plan --from URL");
    public static final CliCommand ADOPT_PLAN_HISTORY = form("adopt plan --from URL --flyway-history TABLE");
    public static final CliCommand ADOPT_RUN = form("adopt run --plan FILE --from URL");
    public static final CliCommand ADOPT_RUN_TABLE = form("adopt run --table TABLE --from URL");
    public static final CliCommand ADOPT_RUN_CANCEL = form("adopt run --plan FILE --from URL --cancel");
    public static final CliCommand ADOPT_RUN_FINISH = form("adopt run --plan FILE --from URL --finish");
    public static final CliCommand ADOPT_RUN_REOPEN = form("adopt run --plan FILE --from URL --reopen");
    public static final CliCommand ADOPT_CUTOVER = form("adopt cutover --plan FILE --from URL --percent N");
    public static final CliCommand ADOPT_CUTOVER_NONE = form("adopt cutover --plan FILE --from URL --percent 0");
    public static final CliCommand ADOPT_REVERSE = form("adopt reverse --plan FILE --from URL --percent N");
    public static final CliCommand ADOPT_VERIFY = form("adopt verify --plan FILE --from URL");
    public static final CliCommand CDC_CREATE = form("cdc create");
    public static final CliCommand CDC_DROP = form("cdc drop");
    public static final CliCommand CDC_STATUS = form("cdc status");
    public static final CliCommand DEMO = form("demo");
    public static final CliCommand DOCTOR = form("doctor");
    public static final CliCommand DOCTOR_FIX = form("doctor --fix");
    public static final CliCommand GATEWAY_DEPLOY = form("gateway deploy --on URL --reader ROLE");
    public static final CliCommand GATEWAY_DROP = form("gateway drop NAME");
    public static final CliCommand GATEWAY_REFRESH = form("gateway refresh NAME");
    public static final CliCommand GATEWAY_STATUS = form("gateway status");
    public static final CliCommand GRANTS = form("grants --for WORK --role NAME");
    public static final CliCommand GRANTS_MOVES = form("grants --for moves --role NAME");
    public static final CliCommand ID_DECODE = form("id decode ID");
    public static final CliCommand INIT = form("init --catalog URL --server NAME=URL");
    public static final CliCommand INIT_HERE = form("init --server NAME=URL");
    public static final CliCommand INIT_EPOCH = form("init --epoch TIME --server NAME=URL");
    public static final CliCommand INIT_CATALOG_LOST = form("init --catalog-lost --shards N --server NAME=URL");
    public static final CliCommand LOCAL_START = form("local start");
    public static final CliCommand LOOKUP_BACKFILL = form("lookup backfill NAME");
    public static final CliCommand LOOKUP_CREATE = form("lookup create TABLE.COLUMN");
    public static final CliCommand LOOKUP_CREATE_OF =
            form("lookup create NAME --table TABLE --column COLUMN --uid-column COLUMN");
    public static final CliCommand LOOKUP_CREATE_UNIQUE_OF =
            form("lookup create NAME --table TABLE --column COLUMN --uid-column COLUMN --unique");
    public static final CliCommand LOOKUP_DROP = form("lookup drop NAME");
    public static final CliCommand LOOKUP_LIST = form("lookup list");
    public static final CliCommand MAP_HISTORY = form("map history");
    public static final CliCommand MAP_IMPORT = form("map import FILE");
    public static final CliCommand MAP_IMPORT_YES = form("map import FILE --yes");
    public static final CliCommand MAP_LOCATE_KEY = form("map locate --key TEXT");
    public static final CliCommand MAP_LOCATE_SHARD = form("map locate --shard N");
    public static final CliCommand MAP_LOCATE_UID = form("map locate --uid N");
    public static final CliCommand MAP_SHOW = form("map show");
    public static final CliCommand MOVE_CANCEL = form("move cancel MOVE");
    public static final CliCommand MOVE_CANCEL_KEEPING = form("move cancel MOVE --keep-moved");
    public static final CliCommand MOVE_CANCEL_KEEPING_UNCOMPARED = form("move cancel MOVE --keep-moved --uncompared");
    public static final CliCommand MOVE_CANCEL_LOST = form("move cancel MOVE --target-lost");
    public static final CliCommand MOVE_CANCEL_UNCOMPARED = form("move cancel MOVE --uncompared");
    public static final CliCommand MOVE_COMPLETE = form("move complete MOVE");
    public static final CliCommand MOVE_CUTOVER = form("move cutover MOVE");
    public static final CliCommand MOVE_CUTOVER_PATIENT = form("move cutover MOVE --patience DURATION");
    public static final CliCommand MOVE_REVERSE = form("move reverse MOVE");
    public static final CliCommand MOVE_RUN = form("move run --shards SHARDS --to SERVER");
    public static final CliCommand MOVE_START = form("move start --shards SHARDS --to SERVER");
    public static final CliCommand MOVE_START_DRY_RUN = form("move start --shards SHARDS --to SERVER --dry-run");
    public static final CliCommand MOVE_STATUS = form("move status");
    public static final CliCommand MOVE_STATUS_OF = form("move status MOVE");
    public static final CliCommand MOVE_STATUS_OF_WATCH = form("move status MOVE --watch");
    public static final CliCommand MOVE_STATUS_WATCH = form("move status --watch");
    public static final CliCommand MOVE_VERIFY = form("move verify MOVE");
    public static final CliCommand MOVE_VERIFY_JSON = form("move verify MOVE -o json");
    public static final CliCommand REBALANCE_APPLY = form("rebalance apply FILE");
    public static final CliCommand RECONCILE_FORGET = form("reconcile --forget MOVE");
    public static final CliCommand RECONCILE_RESTORED = form("reconcile --restored");
    public static final CliCommand REFERENCE_DELETE = form("reference delete TABLE KEY...");
    public static final CliCommand REFERENCE_DEPLOY = form("reference deploy --changelog FILE");
    public static final CliCommand REFERENCE_DEPLOY_HOME = form("reference deploy --home SERVER --changelog FILE");
    public static final CliCommand REFERENCE_DEPLOY_PATIENT =
            form("reference deploy --lock-timeout DURATION --changelog FILE");
    public static final CliCommand REFERENCE_MOVE = form("reference move --to SERVER");
    public static final CliCommand REFERENCE_REPAIR = form("reference repair");
    public static final CliCommand REFERENCE_STATUS = form("reference status");
    public static final CliCommand RESTORE_POINT = form("restore-point NAME");
    public static final CliCommand RESTORE_POINT_LIST = form("restore-point list");
    public static final CliCommand SCHEMA_CHECK = form("schema check");
    public static final CliCommand SCHEMA_DEPLOY = form("schema deploy --changelog FILE");
    public static final CliCommand SCHEMA_DEPLOY_HISTORY =
            form("schema deploy --changelog flyway:db/migration --flyway-history FILE");
    public static final CliCommand SCHEMA_DEPLOY_OUT_OF_ORDER = form("schema deploy --out-of-order --changelog FILE");
    public static final CliCommand SCHEMA_DEPLOY_PUBLIC = form("schema deploy --allow-public --changelog FILE");
    public static final CliCommand SCHEMA_DEPLOY_SEARCH = form("schema deploy --search-path DIR --changelog FILE");
    public static final CliCommand SCHEMA_RECREATE = form("schema deploy --recreate SHARDS --changelog FILE");
    public static final CliCommand SCHEMA_DRIFT = form("schema status --drift");
    public static final CliCommand SCHEMA_STATUS = form("schema status");
    public static final CliCommand SEPARATE = form("separate --server NAME=URL");
    public static final CliCommand SERVER_ADD = form("server add NAME --url URL");
    public static final CliCommand SERVER_CHANGE = form("server change NAME --url URL");
    public static final CliCommand SERVER_CHANGE_POOLER =
            form("server change NAME --url URL_OF_THE_SERVER --application-url URL_OF_THE_POOLER");
    public static final CliCommand SERVER_CHANGE_APPLICATION = form("server change NAME --application-url URL");
    public static final CliCommand SERVER_CHANGE_WEIGHT = form("server change NAME --label weight=1");
    public static final CliCommand SERVER_DRAIN = form("server drain NAME");
    public static final CliCommand SERVER_LIST = form("server list");
    public static final CliCommand SERVER_REMOVE = form("server remove NAME");
    public static final CliCommand SERVER_SPLIT = form("server split NAME");
    public static final CliCommand SERVER_SPLIT_CANCEL = form("server split NAME --cancel");
    public static final CliCommand SQL_WRITE = form("sql --write --all-shards SQL");
    public static final CliCommand UPGRADE = form("upgrade");
    public static final CliCommand UPGRADE_DRY_RUN = form("upgrade --dry-run");

    @Serial
    private static final long serialVersionUID = 1L;

    /** A word of the command line; a place is one that stands for a value, such as {@code FILE}. */
    private record Word(String text, boolean isPlace) implements Serializable {

        @Serial
        private static final long serialVersionUID = 1L;

        private static final Pattern PLACE = Pattern.compile("[A-Z][A-Z_=.]*");

        static Word ofForm(String word) {
            return new Word(word, PLACE.matcher(word).matches());
        }

        static Word value(Object value) {
            return new Word(value.toString(), false);
        }
    }

    private final List<Word> words;

    private CliCommand(List<Word> words) {
        this.words = List.copyOf(words);
    }

    private static CliCommand form(String form) {
        return new CliCommand(Stream.of(form.split(" ", -1)).map(Word::ofForm).toList());
    }

    /** This command with values in its places, from left to right; one such as {@code KEY...} takes all that are left. */
    public CliCommand with(Object... values) {
        List<Object> left = new ArrayList<>(List.of(values));
        List<Word> filled = new ArrayList<>();
        for (Word word : words) {
            if (!word.isPlace() || left.isEmpty()) {
                filled.add(word);
                continue;
            }
            do {
                filled.add(Word.value(left.remove(0)));
            } while (word.text().endsWith("...") && !left.isEmpty());
        }
        return new CliCommand(filled);
    }

    /** This command with the value of an option, such as {@code from}; unchanged if it has none of this name without a value. */
    public CliCommand withOption(String option, Object value) {
        int place = openPlace(option);
        if (place < 0) {
            return this;
        }
        List<Word> filled = new ArrayList<>(words);
        filled.set(place, Word.value(value));
        return new CliCommand(filled);
    }

    private int openPlace(String option) {
        int place = words.indexOf(new Word("--" + option, false)) + 1;
        return place > 0 && place < words.size() && words.get(place).isPlace() ? place : -1;
    }

    /** This command of an adoption, for one table in place of a plan. */
    public CliCommand ofTable(String table) {
        return ofTables(List.of(table), null, null);
    }

    /**
     * This command of an adoption, for tables in place of a plan; unchanged if it takes no plan or has one.
     *
     * @param key the column with their key; null if it need not be said
     * @param into the table's name in the shards; null if it need not be said
     */
    public CliCommand ofTables(List<String> tables, @Nullable String key, @Nullable String into) {
        int plan = openPlace("plan");
        if (plan < 0) {
            return this;
        }
        List<Word> others = new ArrayList<>(words.subList(0, plan - 1));
        tables.forEach(table -> add(others, "table", table));
        if (key != null) {
            add(others, "key", key);
        }
        if (into != null) {
            add(others, "into", into);
        }
        others.addAll(words.subList(plan + 1, words.size()));
        return new CliCommand(others);
    }

    private static void add(List<Word> words, String option, String value) {
        words.add(new Word("--" + option, false));
        words.add(Word.value(value));
    }

    /** Whether each place has a value, so that the command can be run. */
    public boolean isComplete() {
        return words.stream().noneMatch(Word::isPlace);
    }

    /** The command's names, arguments and options, as the command line takes them. */
    public List<String> words() {
        return words.stream().map(Word::text).toList();
    }

    /** A word, quoted for a shell if necessary. */
    public static String quoted(String word) {
        return !word.isEmpty()
                        && word.chars()
                                .allMatch(each -> Character.isLetterOrDigit(each) || "-_./:@=,".indexOf(each) >= 0)
                ? word
                : "'" + word.replace("'", "'\\''") + "'";
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof CliCommand command && words.equals(command.words);
    }

    @Override
    public int hashCode() {
        return words.hashCode();
    }

    /** The whole command as typed into a terminal, including {@code shardflake}. */
    @Override
    public String toString() {
        return words.stream().map(word -> quoted(word.text())).collect(Collectors.joining(" ", "shardflake ", ""));
    }
}
