/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaCall;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaConstructor;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Driver;
import java.sql.DriverManager;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.shardflake.server.ServerUrl;

/** The direction of the modules and of the packages in them. */
class LayersTest {

    private static final String[] VALUES = {"org.shardflake", "org.shardflake.jackson..", "org.shardflake.jpa.."};
    private static final String[] ROUTER = {
        "org.shardflake.catalog..",
        "org.shardflake.server..",
        "org.shardflake.router..",
        "org.shardflake.jooq..",
        "org.shardflake.micrometer..",
        "org.shardflake.yaml.."
    };
    private static final String[] OPERATIONS = {
        "org.shardflake.adopt..",
        "org.shardflake.changes..",
        "org.shardflake.compare..",
        "org.shardflake.deploy..",
        "org.shardflake.doctor..",
        "org.shardflake.gateway..",
        "org.shardflake.grants..",
        "org.shardflake.install..",
        "org.shardflake.jdbc..",
        "org.shardflake.load..",
        "org.shardflake.lookup..",
        "org.shardflake.move..",
        "org.shardflake.preflight..",
        "org.shardflake.rebalance..",
        "org.shardflake.reference..",
        "org.shardflake.replication..",
        "org.shardflake.restore..",
        "org.shardflake.script..",
        "org.shardflake.split..",
        "org.shardflake.watch.."
    };
    private static final String[] COMMAND_LINE = {"org.shardflake.cli.."};
    /** Classes that look for hosts or a password in a URL's data source, or pin it for a router. */
    private static final Set<String> MAY_HAVE_SOURCES =
            Set.of("HostFindings", "SplitChecks", "ServerAccess", "SqlRouter", "LookupTables");

    private static final String DRIVER_ADAPTERS = "org.shardflake.server.internal";

    private static final Set<String> PUBLISHED_BY_THE_DRIVER = Set.of(
            "org.postgresql.copy",
            "org.postgresql.ds",
            "org.postgresql.ds.common",
            "org.postgresql.replication",
            "org.postgresql.util");

    private static final Set<String> PARAMETERS_OF_ITS_DATA_SOURCES = Set.of("AutoSave", "PreferQueryMode");

    private static final String COMMANDS = "org.shardflake.cli.command..";

    /** To drain, rebalance or split a server is to move shards; the console shows what other commands say. */
    private static final Set<String> NOUNS_LENT = Set.of(
            "console uses doctor",
            "console uses map",
            "console uses move",
            "console uses schema",
            "doctor uses move",
            "installation uses move",
            "local uses move",
            "rebalance uses move",
            "restorepoint uses doctor",
            "server uses move",
            "server uses rebalance");

    private static final int LARGEST_CYCLE = 10;

    private static final String[] SQL = {"org.shardflake.sql.."};

    private static final JavaClasses MAIN = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .withImportOption(location -> !location.contains("-tests.jar"))
            .importPackages("org.shardflake");

    @Test
    void noPackagesDependOnEachOtherInACircle() {
        slices().matching("org.shardflake.(**)").should().beFreeOfCycles().check(MAIN);
    }

    @Test
    void idsKnowNothingElse() {
        refuses(VALUES, SQL, ROUTER, OPERATIONS, COMMAND_LINE);
    }

    @Test
    void theFunctionLibraryKnowsNothingElse() {
        refuses(SQL, VALUES, ROUTER, OPERATIONS, COMMAND_LINE);
    }

    @Test
    void theRouterKnowsIdsOnly() {
        refuses(ROUTER, SQL, OPERATIONS, COMMAND_LINE);
    }

    /** A class whose helpers all call back into it holds a component that has no name yet. */
    @Test
    void fewClassesOfTheRouterDependOnEachOther() {
        assertThat(ClassCycles.largest(MAIN.that(resideInAnyPackage(ROUTER)))).hasSizeLessThanOrEqualTo(LARGEST_CYCLE);
    }

    /** They are public only for the packages around them. */
    @Test
    void onlyRouterAndMovesKnowTheirInternalPackages() {
        knowOnly("org.shardflake.router.internal..", "org.shardflake.router..");
        knowOnly(
                "org.shardflake.move.internal..",
                "org.shardflake.move..",
                "org.shardflake.preflight..",
                "org.shardflake.split..");
    }

    private static void knowOnly(String internal, String... users) {
        noClasses()
                .that()
                .resideOutsideOfPackages(users)
                .should()
                .dependOnClassesThat()
                .resideInAPackage(internal)
                .check(MAIN);
    }

    /** The driver may change what it does not publish in any release; this finds all of its uses in one place. */
    @Test
    void onlyAdaptersKnowTheInternalsOfTheDriver() throws IOException {
        noClasses()
                .that()
                .resideOutsideOfPackage(DRIVER_ADAPTERS)
                .should()
                .dependOnClassesThat(describe("are internals of the driver", LayersTest::isInternalToTheDriver))
                .check(MAIN);
        assertThat(sourcesWith("org.postgresql.core."))
                .isNotEmpty()
                .allSatisfy(file -> assertThat(file.getParent()).endsWith(Path.of("server", "internal")));
    }

    /** The sources of all modules, also of those that the command does not use. */
    private static List<Path> sourcesWith(String text) throws IOException {
        List<Path> found = new ArrayList<>();
        for (Path sources : sources()) {
            try (Stream<Path> files = Files.walk(sources)) {
                for (Path file : files.filter(path -> path.toString().matches(".*\\.(java|kt)"))
                        .toList()) {
                    if (Files.readString(file).contains(text)) {
                        found.add(file);
                    }
                }
            }
        }
        return found;
    }

    private static List<Path> sources() throws IOException {
        List<Path> sources = new ArrayList<>();
        for (String parent : List.of("..", "../src", "../src/samples")) {
            try (Stream<Path> modules = Files.list(Path.of(parent))) {
                modules.map(module -> module.resolve("src/main"))
                        .filter(Files::isDirectory)
                        .forEach(sources::add);
            }
        }
        return sources;
    }

    private static boolean isInternalToTheDriver(JavaClass type) {
        return type.getPackageName().startsWith("org.postgresql.")
                && !PUBLISHED_BY_THE_DRIVER.contains(type.getPackageName())
                && !PARAMETERS_OF_ITS_DATA_SOURCES.contains(type.getSimpleName());
    }

    @Test
    void operationsKnowNothingOfTheCommandLine() {
        refuses(OPERATIONS, COMMAND_LINE, new String[] {"picocli..", "org.shardflake.cluster.."});
    }

    @Test
    void onlyCommandsParseTheCommandLine() {
        noClasses()
                .that()
                .resideInAPackage("org.shardflake..")
                .and()
                .resideOutsideOfPackages("org.shardflake.cli", COMMANDS)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("picocli..", COMMANDS)
                .check(MAIN);
    }

    /** A noun has a package of its own. What a noun lends to others is a decision, so that no circles and no knots grow from it. */
    @Test
    void commandsOfANounKnowFewOfOthers() {
        Set<String> found = new TreeSet<>();
        for (JavaClass type : MAIN.that(resideInAPackage(COMMANDS))) {
            for (Dependency dependency : type.getDirectDependenciesFromSelf()) {
                noun(type)
                        .flatMap(user -> noun(dependency.getTargetClass())
                                .filter(used -> !used.equals(user) && !used.equals("option"))
                                .map(used -> user + " uses " + used))
                        .ifPresent(found::add);
            }
        }
        assertThat(found).containsExactlyInAnyOrderElementsOf(NOUNS_LENT);
    }

    private static Optional<String> noun(JavaClass type) {
        String parent = COMMANDS.replace("..", ".");
        String name = type.getPackageName();
        return name.startsWith(parent) ? Optional.of(name.substring(parent.length())) : Optional.empty();
    }

    /** In that place every session gets the same settings, whatever its server, database and role have set. */
    @Test
    void enginesAndCommandsOpenSessionsInOnePlace() {
        noClasses()
                .that()
                .resideInAnyPackage(OPERATIONS)
                .or()
                .resideInAnyPackage(COMMAND_LINE)
                .should()
                .callCodeUnitWhere(describe("it opens a session without ServerUrl", LayersTest::opensSession))
                .check(MAIN);
    }

    private static boolean opensSession(JavaCall<?> call) {
        JavaClass owner = call.getTargetOwner();
        return switch (call.getName()) {
            case "getConnection" -> owner.isAssignableTo(DataSource.class) || owner.isEquivalentTo(DriverManager.class);
            case "connect" -> owner.isAssignableTo(Driver.class);
            case "dataSource" ->
                owner.isEquivalentTo(ServerUrl.class)
                        && !MAY_HAVE_SOURCES.contains(call.getOriginOwner().getSimpleName());
            case JavaConstructor.CONSTRUCTOR_NAME -> owner.isAssignableTo(DataSource.class);
            default -> false;
        };
    }

    private static void refuses(String[] users, String[]... used) {
        for (String[] packages : used) {
            noClasses()
                    .that()
                    .resideInAnyPackage(users)
                    .should()
                    .dependOnClassesThat()
                    .resideInAnyPackage(packages)
                    .check(MAIN);
        }
    }
}
