/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.shardflake.cli.Cli.Result;

/** {@code shardflake id decode --scheme}. */
class IdSchemeTest {

    @Test
    void showsATableWithTheFieldsOfTheScheme() {
        assertThat(Cli.launch("id", "decode", "--scheme", "snowflake", "1541815603606036480", "-1"))
                .isEqualTo(new Result(0, """
                                ID                   TIME                      DATA CENTER  WORKER  SEQUENCE  WARNINGS
                                1541815603606036480  2022-06-28T16:07:40.105Z  11           26      0
                                -1                   2150-03-18T09:18:05.760Z  31           31      4095      the sign bit is set, which the scheme leaves zero
                                """, ""));
    }

    @Test
    void showsJsonOneObjectALine() {
        assertThat(Cli.launch("id", "decode", "--scheme=uniqueid", "-o=json", "cb54ecf284000000", "0000000000001270"))
                .isEqualTo(new Result(0, """
                                {"id":"cb54ecf284000000","scheme":"uniqueid","time":"1974-07-14T19:42:16.275Z","timeMillis":143062936275,"sequence":0,"mode":"SPREAD","generator":0,"cluster":0,"warnings":[]}
                                {"id":"0000000000001270","scheme":"uniqueid","time":"1970-01-01T00:00:00Z","timeMillis":0,"sequence":0,"mode":"TIME_SEQUENTIAL","generator":39,"cluster":0,"warnings":[]}
                                """, ""));
    }

    @Test
    void showsYaml() {
        assertThat(Cli.launchWithInput(
                        "507f1f77bcf86cd799439011\n", "id", "decode", "--scheme", "objectid", "-o", "yaml"))
                .isEqualTo(new Result(0, """
                                - id: "507f1f77bcf86cd799439011"
                                  scheme: "objectid"
                                  time: "2012-10-17T21:13:27Z"
                                  timeMillis: 1350508407000
                                  process: "bcf86cd799"
                                  counter: 4427793
                                  warnings: []
                                """, ""));
    }

    @Test
    void takesAnotherEpoch() {
        assertThat(Cli.launch(
                        "id",
                        "decode",
                        "--scheme",
                        "instagram",
                        "--epoch",
                        "2011-01-01T00:00:00Z",
                        "11637205501278089"))
                .isEqualTo(new Result(0, """
                                ID                 TIME                  SHARD  SEQUENCE  WARNINGS
                                11637205501278089  2011-01-17T01:21:03Z  1341   905
                                """, ""));
    }

    @Test
    void carriesOnPastABadId() {
        assertThat(Cli.launchWithInput("x\n31341\n", "id", "decode", "--scheme", "tickets"))
                .isEqualTo(
                        new Result(
                                1,
                                """
                                ID     NUMBER  SERVER  WARNINGS
                                31341  31341   1
                                """,
                                "error: line 1: \"x\" is not an id: character 1 is not a digit; ids of tickets are decimal numbers\n"));
    }

    @Test
    void ranksWhatAnIdCouldBe() {
        assertThat(Cli.launch("id", "decode", "--scheme", "auto", "14150009200065", "507f1f77bcf86cd799439011"))
                .isEqualTo(new Result(0, """
                                ID                        SCHEME          PLAUSIBILITY  REASON
                                14150009200065            decimalid       75            generator and launch are small numbers
                                14150009200065            traceid         10            any number has a time, as seconds begin again every 388 days
                                14150009200065            shardflake      3             its time 2025-01-01T00:28:06Z is before there were such ids
                                14150009200065            snowflake       3             its time 2010-11-04T02:39:08Z is before there were such ids
                                14150009200065            snowflake-java  3             its time 2015-01-01T00:56:13Z is before there were such ids
                                14150009200065            simpleflake     3             its time 2000-01-01T05:28:06Z is before there were such ids
                                14150009200065            instagram       3             its time 2011-08-24T21:35:08Z is before there were such ids
                                14150009200065            serial          2             too large for a count
                                14150009200065            tickets         2             too large for a count
                                507f1f77bcf86cd799439011  objectid        95            its time 2012-10-17T21:13:27Z is likely, and it has 24 hexadecimal digits
                                """, ""));
    }

    @Test
    void ranksAsJson() {
        assertThat(Cli.launch("id", "decode", "--scheme=auto", "-o=json", "507f1f77bcf86cd799439011"))
                .isEqualTo(new Result(0, """
                                {"id":"507f1f77bcf86cd799439011","guesses":[{"scheme":"objectid","plausibility":95,"reason":"its time 2012-10-17T21:13:27Z is likely, and it has 24 hexadecimal digits","time":"2012-10-17T21:13:27Z","timeMillis":1350508407000,"process":"bcf86cd799","counter":4427793,"warnings":[]}]}
                                """, ""));
    }

    @Test
    void saysWhereNothingFits() {
        assertThat(Cli.launch("id", "decode", "--scheme", "auto", "no id"))
                .isEqualTo(new Result(
                        2,
                        "",
                        "error: argument 1: \"no id\" can be an id of no scheme; see --scheme for those there are\n"));
    }

    @Test
    void namesTheSchemesWhereOneIsNot() {
        assertThat(Cli.launch("id", "decode", "--scheme", "ulid", "5")).isEqualTo(new Result(2, "", """
                                error: 'ulid' is not a scheme; there are shardflake, serial, tickets, uuidv4, uuidv7, objectid, snowflake, snowflake-java, flake, simpleflake, instagram, uniqueid, traceid, decimalid
                                """));
    }

    @Test
    void refusesAnEpochWhereThereIsNone() {
        assertThat(Cli.launch("id", "decode", "--scheme", "uuidv7", "--epoch", "0", "5"))
                .isEqualTo(new Result(2, "", "error: scheme uuidv7 has no epoch to choose\n"));
    }
}
