/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.shardflake.IdLayout;
import org.shardflake.ShardKey;
import org.shardflake.ShardflakeId;
import org.shardflake.cluster.PostgresExtension;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.core.convert.ConversionService;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** An application with a web server: ids in JSON, paths and parameters, and the endpoint. */
class WebTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    private static final HttpClient http = HttpClient.newHttpClient();

    private static PhotoInstallation installation;
    private static ConfigurableApplicationContext application;

    record Photo(ShardflakeId id, long uid, String title) {}

    @RestController
    static class Photos {

        private final ShardTemplate shards;
        private final JdbcClient jdbc;

        Photos(ShardTemplate shards, JdbcClient jdbc) {
            this.shards = shards;
            this.jdbc = jdbc;
        }

        @GetMapping("/photos/{photoId}")
        List<Photo> photo(@PathVariable ShardflakeId photoId) {
            return shards.read(
                    ShardKey.id(photoId),
                    () -> jdbc.sql("SELECT * FROM photo WHERE id = ?")
                            .param(photoId.value())
                            .query(Photo.class)
                            .list());
        }

        @GetMapping("/shard")
        int shard(@RequestParam ShardflakeId id) {
            return id.shard();
        }

        @GetMapping("/plus")
        int plus(@RequestParam int number) {
            return number + 1;
        }

        @PostMapping("/photos")
        Photo store(@RequestBody Photo photo) {
            return photo;
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @Import(Photos.class)
    static class Application {}

    @BeforeAll
    static void start(@TempDir Path directory) throws Exception {
        installation = PhotoInstallation.create(postgres, directory);
        application = SpringApplication.run(
                Application.class, installation.arguments("--management.endpoints.web.exposure.include=shards"));
    }

    @AfterAll
    static void stop() {
        application.close();
    }

    private static HttpResponse<String> get(String path) throws Exception {
        return send(HttpRequest.newBuilder(at(path)));
    }

    private static URI at(String path) {
        return URI.create(
                "http://localhost:%s%s".formatted(application.getEnvironment().getProperty("local.server.port"), path));
    }

    private static HttpResponse<String> send(HttpRequest.Builder request) throws Exception {
        return http.send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    @Test
    void aRowWithAnIdGoesToTheBrowserWithAString() throws Exception {
        long id = IdLayout.DEFAULT.encode(IdLayout.DEFAULT.epochMillis() + 59_000_000_000L, 1, 5);
        installation.inShard(1, "INSERT INTO ${shard.schema}.photo VALUES (%s, 1, 'sunrise')".formatted(id));

        assertThat(get("/photos/" + id).body())
                .isEqualTo("[{\"id\":\"%s\",\"uid\":1,\"title\":\"sunrise\"}]".formatted(id));
        assertThat(get("/shard?id=" + id).body()).isEqualTo("1");
    }

    @Test
    void idsComeInAsStrings() throws Exception {
        String photo = "{\"id\":\"499335931086511104\",\"uid\":1,\"title\":\"x\"}";
        HttpRequest.Builder post = HttpRequest.newBuilder(at("/photos")).header("Content-Type", "application/json");

        assertThat(send(post.POST(HttpRequest.BodyPublishers.ofString(photo))).body())
                .isEqualTo(photo);
        assertThat(send(post.POST(HttpRequest.BodyPublishers.ofString(
                                photo.replace("\"499335931086511104\"", "499335931086511104"))))
                        .statusCode())
                .isEqualTo(400);
    }

    @ParameterizedTest
    @CsvSource({
        "/photos/sunrise, photoId: \\\"sunrise\\\" is not an id: character 1 is not a digit",
        "/shard?id=7.5, id: \\\"7.5\\\" is not an id: character 2 is not a digit",
        "/photos/99999999999999999999, photoId: \\\"99999999999999999999\\\" is not an id: it is out of range"
    })
    void nonsenseIsABadRequestThatSaysWhy(String path, String reason) throws Exception {
        HttpResponse<String> response = get(path);

        assertThat(response.statusCode()).isEqualTo(400);
        assertThat(response.headers().firstValue("Content-Type")).contains("application/problem+json");
        assertThat(response.body()).contains(reason);
    }

    @Test
    void otherParametersAreRefusedAsBefore() throws Exception {
        HttpResponse<String> response = get("/plus?number=x");

        assertThat(response.statusCode()).isEqualTo(400);
        assertThat(response.body()).contains("\"path\":\"/plus\"");
    }

    @Test
    void withProblemDetailsOfSpringOtherParametersHaveThose() throws Exception {
        ConfigurableApplicationContext first = application;
        try (ConfigurableApplicationContext withDetails = SpringApplication.run(
                Application.class, installation.arguments("--spring.mvc.problemdetails.enabled=true"))) {
            application = withDetails;
            HttpResponse<String> other = get("/plus?number=x");
            HttpResponse<String> id = get("/shard?id=x");

            assertThat(other.statusCode()).isEqualTo(400);
            assertThat(other.headers().firstValue("Content-Type")).contains("application/problem+json");
            assertThat(other.body()).contains("number");
            assertThat(id.statusCode()).isEqualTo(400);
            assertThat(id.body()).contains("is not an id: character 1 is not a digit");
        } finally {
            application = first;
        }
    }

    @Test
    void jackson2AndLinksHaveIdsAsStringsToo() throws Exception {
        ShardflakeId id = ShardflakeId.of(499335931086511104L);

        assertThat(application.getBean(ObjectMapper.class).writeValueAsString(id))
                .isEqualTo("\"" + id + "\"");
        assertThat(application
                        .getBean("mvcConversionService", ConversionService.class)
                        .convert(id, String.class))
                .isEqualTo(id.toString());
    }

    @Test
    void theEndpointShowsTheMap() throws Exception {
        assertThat(get("/actuator/shards").body())
                .contains("\"version\":1", "\"shards\":8", "\"db1\":{", "\"0-6/2\"", "\"db2\":{", "\"count\":4")
                .doesNotContain("postgresql:");
    }

    @Test
    void theEndpointLocatesKeys() throws Exception {
        long id = IdLayout.DEFAULT.encode(IdLayout.DEFAULT.epochMillis() + 1000, 3, 5);

        assertThat(get("/actuator/shards/uid/42").body())
                .isEqualTo("{\"uid\":\"42\",\"shard\":2,\"schema\":\"shard_0002\",\"server\":\"db1\",\"epoch\":1}");
        assertThat(get("/actuator/shards/id/" + id).body())
                .contains(
                        "\"id\":\"" + id, "\"server\":\"db2\"", "\"time\":\"2025-01-01T00:00:01Z\"", "\"sequence\":5");
        assertThat(get("/actuator/shards/shard/7").body()).contains("\"shard\":7", "\"server\":\"db2\"");
    }

    @ParameterizedTest
    @CsvSource({
        "uid/alice, alice is not a whole number of 64 bits",
        "id/x, is not an id: character 1 is not a digit",
        "shard/8, shard 8 is out of range 0..7",
        "shard/4294967296, shard 4294967296 is out of range 0..8191",
        "photo/7, 'photo is not a kind of key, allowed: uid, id, shard'"
    })
    void theEndpointRefusesWhatIsNoKey(String key, String reason) throws Exception {
        HttpResponse<String> response = get("/actuator/shards/" + key);

        assertThat(response.statusCode()).isEqualTo(400);
        assertThat(response.body()).contains(reason);
    }
}
